"""Compile (or load from the disk cache) what common queries need, before the first query is timed."""

import numpy as np

from .inputs import Aggregate, Comparison, Condition, Rows, Template
from .match_starts import match_starts
from .trend_aggregates import aggregate


def warm_up() -> None:
    """Run each kernel once, on a few rows, for each type of number: int64 and float64."""
    count = 6
    numbers = np.arange(count)
    one = Template(
        np.zeros(1, np.int32), np.ones(1, bool), np.ones(1, bool), np.zeros(1, np.int32), np.zeros(1, np.int32)
    )
    window = np.zeros(count, np.int64)
    starts = np.array([0, count])
    letters = np.ones(count, np.uint64)
    rows = Rows(starts, numbers, window, window, letters)
    sliding = Rows(starts, numbers, numbers - 2, numbers, letters)
    falling = [Condition((Comparison(numbers, ">", numbers),))]
    wanted = [Aggregate("sum", 1, numbers), Aggregate("sum", 1, numbers / 2), Aggregate("max", 1, numbers)]
    for some in (rows, sliding):
        for conditions in (None, falling):
            for kind in ("exact", "float64"):
                aggregate(some, one, conditions, wanted, numbers=kind)
    match_starts(rows, one, falling)
