"""Stock transactions, in the manner of the NYSE data set of GRETA, Section 10.1."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

from trendweave.datasets.event_table import Time, check_at_least, check_positive, event_table, name_codes, random_source
from trendweave.datasets.random_walk import reflect

#: A walk moves in millionths of the logarithm of the price, and stays within a factor e of the first price.
_UNIT = 1_000_000


def stock(
    events: int,
    seed: int,
    companies: int = 19,
    sectors: int = 10,
    *,
    rate: float | None = None,
    volatility: float = 0.001,
    time: Time = "timestamp",
) -> pa.Table:
    """Transactions of type Stock: each company's price is a random walk, and companies take turns.

    `rate` is the number of records per second; without it, every company has one record in each second. `volatility` is
    the standard deviation of the relative change from one record of a company to its next. A company is always in the
    same sector. First prices are uniform between 20 and 200, volumes are round lots up to 10,000.

    The paper uses 225k real records, replicated ten times; 2,250,000 events with the defaults are a stream of the same
    size and the same numbers of companies and sectors, about 33 hours long.

    Args:
        events: How many rows the table has.
        seed: The same seed gives the same table, on every machine.
        companies: How many companies there are.
        sectors: How many sectors there are.
        rate: Records per second; None for one of each company.
        volatility: Standard deviation of the relative change of a price from record to record.
        time: "timestamp" (UTC, from the start of 2024) or "seconds" since the start.

    Returns:
        Events in order of time, with the columns `time` and `type`.

    Raises:
        ValueError: An argument is out of its range.
    """
    check_at_least(0, events=events, volatility=volatility)
    check_at_least(1, companies=companies, sectors=sectors)
    rate = companies if rate is None else rate
    check_positive(rate=rate)
    random = random_source(seed)

    record = np.arange(events)
    company = record % companies
    first_cents = random.integers(20_00, 200_00, companies)
    turns = -(-events // companies)
    # Uniform steps between -reach and reach have the standard deviation reach / sqrt(3).
    reach = round(volatility * math.sqrt(3) * _UNIT)
    steps = random.integers(-reach, reach, (turns, companies), endpoint=True)
    steps[:1] = 0
    change = reflect(np.cumsum(steps, axis=0), -_UNIT, _UNIT)
    cents = np.rint(first_cents * np.exp(change / _UNIT)).ravel()[:events]

    attributes = {
        "company": company,
        "sector": company % sectors,
        "price": cents / 100,
        "volume": random.integers(1, 100, events, endpoint=True) * 100,
        "side": name_codes(random.integers(0, 2, events, dtype=np.int8), ("buy", "sell")),
        "transaction_id": record,
    }
    return event_table((record // rate).astype(np.int64), None, ("Stock",), attributes, time)
