"""Clicks of visitors of a shop: each goes from page to page, puts things into the cart, pays, or leaves."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from trendweave.datasets.event_table import Time, check_at_least, check_positive, event_table, name_codes, random_source

TYPES = (
    "Visit", "Search", "View", "AddToCart", "RemoveFromCart", "Checkout",
    "Pay", "PayFailed", "Login", "LoginFailed", "Help", "Leave",
)  # fmt: skip
_COUNTRIES = ("AT", "BR", "DE", "FR", "IN", "JP", "PL", "US")
_DEVICES = ("phone", "tablet", "desktop")

# What comes next, in percent: a row per type, a column per next type, both in the order of TYPES.
_NEXT = np.array([
    #Vi  Se  Vw Add Rem Che Pay PFl Log LFl Hlp Lea
    [ 0, 30, 50,  0,  0,  0,  0,  0, 10,  3,  2,  5],  # Visit
    [ 0, 25, 60,  0,  0,  0,  0,  0,  2,  0,  3, 10],  # Search
    [ 0, 12, 48, 22,  0,  0,  0,  0,  2,  0,  2, 14],  # View
    [ 0,  5, 35, 18,  8, 26,  0,  0,  2,  0,  1,  5],  # AddToCart
    [ 0, 10, 45, 15,  5,  5,  0,  0,  0,  0,  5, 15],  # RemoveFromCart
    [ 0,  0,  5,  0,  5,  0, 55, 20,  3,  2,  4,  6],  # Checkout
    [ 0,  5, 20,  0,  0,  0,  0,  0,  0,  0,  3, 72],  # Pay
    [ 0,  0,  0,  0,  4,  6, 30, 45,  0,  0,  7,  8],  # PayFailed
    [ 0, 30, 50,  0,  0, 15,  0,  0,  0,  0,  2,  3],  # Login
    [ 0,  0,  5,  0,  0,  0,  0,  0, 35, 48,  7,  5],  # LoginFailed
    [ 0, 15, 40,  0,  0,  5,  0,  0,  5,  0, 15, 20],  # Help
    [100, 0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0],  # Leave
])  # fmt: skip


def web_clicks(
    events: int,
    seed: int,
    visitors: int = 500,
    products: int = 200,
    *,
    events_per_minute: int = 600,
    time: Time = "timestamp",
) -> pa.Table:
    """Events of twelve types. Each visitor goes from type to type with fixed probabilities, leaves, and comes back.

    Args:
        events: How many rows the table has.
        seed: The same seed gives the same table, on every machine.
        visitors: How many visitors there are; each has a country and a device.
        products: How many products there are, each with a price of 5 to 500.
        events_per_minute: How dense the stream is.
        time: "timestamp" (UTC, from the start of 2024) or "seconds" since the start.

    Returns:
        Events in order of time, with the columns `time`, `type`, `visitor`, `country`, `device`, `product`, `price` and
        `load_ms`: how long the page took, with a long tail.

    Raises:
        ValueError: An argument is out of its range.
    """
    check_at_least(0, events=events)
    check_at_least(1, visitors=visitors, products=products)
    check_positive(events_per_minute=events_per_minute)
    random = random_source(seed)
    visitor = random.integers(0, visitors, events)
    kinds = _walk(visitor, visitors, random)
    product = random.integers(0, products, events)
    prices = random.integers(5_00, 500_00, products, endpoint=True) / 100
    country = random.integers(0, len(_COUNTRIES), visitors)
    device = random.choice(len(_DEVICES), visitors, p=(0.6, 0.1, 0.3))
    attributes = {
        "visitor": visitor,
        "country": name_codes(country[visitor], _COUNTRIES),
        "device": name_codes(device[visitor], _DEVICES),
        "product": product,
        "price": prices[product],
        "load_ms": np.minimum(80 + random.lognormal(4.6, 0.9, events), 30_000).astype(np.int64),
    }
    seconds = (np.arange(events) * 60 // events_per_minute).astype(np.int64)
    return event_table(seconds, kinds, TYPES, attributes, time)


def _walk(visitor: np.ndarray, visitors: int, random: np.random.Generator) -> np.ndarray:
    """The type of each event: the n-th events of all visitors are drawn at once, from their types before."""
    order = np.argsort(visitor, kind="stable")
    counts = np.bincount(visitor, minlength=visitors)
    first = np.cumsum(counts) - counts
    draw = random.random(visitor.size)
    steps = np.cumsum(_NEXT, axis=1) / 100
    kinds = np.zeros(visitor.size, np.int64)  # everybody begins with a visit
    for step in range(1, int(counts.max(initial=0))):
        there = np.flatnonzero(counts > step)
        now, before = order[first[there] + step], order[first[there] + step - 1]
        kinds[now] = (draw[now][:, None] >= steps[kinds[before]]).sum(axis=1)
    return kinds
