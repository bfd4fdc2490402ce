"""Check deposits with a chosen number of compatible events, after the FT data set of CET, Section 7.1."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa

from trendweave.datasets.event_table import Time, check_at_least, check_positive, event_table, name_codes, random_source


def check_deposits(
    events: int,
    seed: int,
    rate: float = 3_500,
    compatibility: int = 3,
    selectivity: float = 0.5,
    *,
    time: Time = "timestamp",
) -> pa.Table:
    """Checks from a source bank to a destination bank, whose status is covered or notcovered.

    CET, Section 7.1: "each of R * S events with time stamp t is compatible with C events with earlier time stamps". So
    of the `rate` checks in a second the share `selectivity` is not covered. For each uncovered check there are exactly
    `compatibility` earlier uncovered checks whose destination is its source, however long the window is. Only the
    checks of the first layer (below) have no earlier ones. Covered checks go between random banks of the same time.

    The stream is made of layers, as in CET, Figure 4: the uncovered checks of a layer form groups of `compatibility`
    checks with one source and one destination, and in the next layer groups begin at this destination. A layer is one
    second, or as many seconds as it takes to fill one group. The remaining checks of a layer end at a bank that is no
    source. With one group per layer this is the paper's worst case: compatibility ** layers complete trends.

    Args:
        events: How many rows the table has.
        seed: The same seed gives the same table, on every machine.
        rate: Checks per second.
        compatibility: Earlier checks that each uncovered check can follow.
        selectivity: The share of checks that are not covered.
        time: "timestamp" (UTC, from the start of 2024) or "seconds" since the start.

    Returns:
        Events in order of time, with the columns `time` and `type`.

    Raises:
        ValueError: An argument is out of its range.
    """
    check_at_least(0, events=events, selectivity=selectivity)
    check_at_least(1, compatibility=compatibility)
    check_positive(rate=rate)
    if selectivity > 1:
        raise ValueError(f"selectivity must be at most 1, not {selectivity}")
    random = random_source(seed)

    record = np.arange(events)
    second = (record // rate).astype(np.int64)
    # Which events of a second are not covered is random, how many is not: events are shuffled within each second.
    shuffled = np.argsort((second << 32) + random.integers(0, 1 << 32, events), kind="stable")
    first_of_second = np.searchsorted(second, second)
    open_before = np.floor(np.append(record, events) * selectivity + 1e-9).astype(np.int64)
    behind_second = np.searchsorted(second, second, side="right")
    open_in_second = open_before[behind_second] - open_before[first_of_second]
    is_open = np.empty(events, bool)
    is_open[shuffled] = record - first_of_second < open_in_second

    layer = second // _seconds_per_layer(second[is_open], int(second[-1]) + 1 if events else 0, compatibility)
    open_checks = shuffled[is_open[shuffled]]  # by layer, at random within a second
    checks_in_layer = np.bincount(layer[open_checks], minlength=int(layer[-1]) + 1 if events else 1)
    rank = np.arange(len(open_checks)) - (np.cumsum(checks_in_layer) - checks_in_layer)[layer[open_checks]]

    # banks[i] is how many banks layer i draws on, and layer i - 1 pays into; first_bank[i] is the first of them. Behind
    # them comes one that only takes.
    groups = checks_in_layer // compatibility
    banks = np.maximum(np.append(groups[:1], groups), 1)
    first_bank = np.cumsum(banks + 1) - (banks + 1)
    source = first_bank[layer] + random.integers(0, banks[layer])
    destination = first_bank[layer + 1] + random.integers(0, banks[layer + 1])
    group = rank // compatibility
    source[open_checks] = first_bank[layer[open_checks]] + group % banks[layer[open_checks]]
    destination[open_checks] = first_bank[layer[open_checks] + 1] + group

    attributes = {
        "source": source,
        "destination": destination,
        "status": name_codes(is_open, ("covered", "notcovered")),
    }
    return event_table(second, None, ("Check",), attributes, time)


def _seconds_per_layer(seconds: np.ndarray, duration: int, checks: int) -> int:
    """The least number of seconds such that all layers but the last, which nobody follows, have so many checks."""
    in_second = np.bincount(seconds, minlength=duration)
    for length in itertools.count(max(1, checks * duration // max(1, len(seconds)))):
        in_layer = np.add.reduceat(in_second, np.arange(0, duration, length)) if duration else in_second
        if (in_layer[:-1] >= checks).all():
            return length
    raise AssertionError("one layer for the whole stream always does")
