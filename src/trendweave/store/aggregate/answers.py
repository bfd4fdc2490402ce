"""Slices added up to windows, and written as a table. No sum is rounded before the last step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from trendweave.programs.operators.exact_sums import ExactSums, as_integers
from trendweave.programs.operators.kernels.rounding import round_quotients
from trendweave.programs.operators.kernels.sliding import largest_between, smallest_between
from trendweave.programs.operators.measured import as_column, is_float
from trendweave.rows.times import TimeType, as_times
from trendweave.store.aggregate.partials import ColumnPart, Partials
from trendweave.store.aggregate.question import Wanted
from trendweave.store.aggregate.windows import Windows
from trendweave.store.index.ranges import NAN_CODE, codes_of, values_of

_INFINITE = codes_of(np.array([np.inf, -np.inf]))
#: Limbs of floats count multiples of the smallest float.
_SMALLEST = -1074


def write_answer(
    slices: Partials, wanted: Sequence[Wanted], columns: Sequence[str], windows: Windows | None, kind: TimeType
) -> pa.Table:
    """The rows of a result: one per window that has an event; of windows of events, one per full window.

    Args:
        slices: In order, each once.
        wanted: The aggregates.
        columns: The columns of the slices.
        windows: None for one window over all.
        kind: How the time column counts.
    """
    if windows is None:
        low, high = np.zeros(min(1, slices.size), np.int64), np.full(min(1, slices.size), slices.size)
        edges = {name: pa.nulls(low.size, kind.arrow) for name in ("window_start", "window_end")}
    else:
        numbers = windows.holding(slices.number)
        if windows.of_events:
            total = int(slices.count.sum())
            numbers = numbers[(numbers >= 0) & (numbers * windows.slide + windows.length <= total)]
        low, high = windows.reach(numbers, slices.number)
        edges = _edges(slices, windows, numbers, low, high, kind)
    return pa.table({**edges, **write_aggregates(slices, wanted, columns, low, high)})


def write_aggregates(
    slices: Partials, wanted: Sequence[Wanted], columns: Sequence[str], low: np.ndarray, high: np.ndarray
) -> dict[str, pa.Array]:
    """The aggregates of windows, each of which has the slices low[i] <= place < high[i]; both ascend."""
    events = _between(slices.count, low, high)
    made = {}
    for one in wanted:
        if one.column is None:
            made[one.name] = pa.array(events, pa.int64())
        else:
            made[one.name] = _aggregate(one, slices.columns[list(columns).index(one.column)], low, high)
    return made


def _edges(
    slices: Partials, windows: Windows, numbers: np.ndarray, low: np.ndarray, high: np.ndarray, kind: TimeType
) -> dict[str, pa.Array]:
    start = numbers * windows.slide
    if not windows.of_events:
        return {"window_start": as_times(start, kind), "window_end": as_times(start + windows.length, kind)}
    first, last = slices.first[low], slices.last[high - 1]
    return {"first_event": pa.array(start), "first_time": as_times(first, kind), "last_time": as_times(last, kind)}


def _between(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    total = np.concatenate((np.zeros(1, np.int64), np.cumsum(values)))
    return total[high] - total[low]


def _aggregate(one: Wanted, part: ColumnPart, low: np.ndarray, high: np.ndarray) -> pa.Array:
    known = _between(part.known, low, high)
    if one.function == "COUNT":
        return pa.array(known, pa.int64())
    nans = _between(part.nans, low, high) if part.nans.any() else np.zeros(known.size, np.int64)
    if one.function in ("MIN", "MAX"):
        return _extreme(one, part, known, nans, low, high)
    sums = part.sums.between(low, high)
    if not is_float(one.kind):
        return _whole(one, sums, known)
    divisors = np.maximum(known, 1) if one.function == "AVG" else np.ones(known.size, np.int64)
    values = _rounded(sums, _SMALLEST, divisors)
    infinite = [_between((codes == code).astype(np.int64), low, high) > 0
                for codes, code in zip((part.high, part.low), _INFINITE, strict=True)]  # fmt: skip
    values = np.where(infinite[0], np.inf, np.where(infinite[1], -np.inf, values))
    values[(infinite[0] & infinite[1]) | (nans > 0)] = np.nan
    return pa.array(values, pa.float64(), mask=known == 0)


def _rounded(sums: ExactSums, unit: int, divisors: np.ndarray) -> np.ndarray:
    if divisors.max(initial=1) < 2**32:
        return round_quotients(sums.limbs, unit + 32 * sums.base, divisors)
    scale = 1 << -unit
    exact = zip(as_integers(sums), divisors.tolist(), strict=True)
    return np.array([number / (divisor * scale) for number, divisor in exact])


def _whole(one: Wanted, sums: ExactSums, known: np.ndarray) -> pa.Array:
    missing = known == 0
    if one.function == "SUM":
        return _decimals(sums, one.result, missing)
    scale = 10**one.kind.scale if pa.types.is_decimal(one.kind) else 1
    if scale == 1:
        return pa.array(_rounded(sums, 0, np.maximum(known, 1)), pa.float64(), mask=missing)
    exact = zip(as_integers(sums), known.tolist(), strict=True)
    # Python divides whole numbers of any length with one rounding.
    return pa.array([number / (count * scale) if count else None for number, count in exact], pa.float64())


def _decimals(sums: ExactSums, kind: pa.DataType, missing: np.ndarray) -> pa.Array:
    """Whole numbers as decimals, which Arrow keeps in four limbs of ours. More of them no store can fill."""
    words = np.zeros((sums.size, 4), np.uint32)
    used = sums.limbs.shape[0]
    for limb in range(4):
        place = limb - sums.base
        if 0 <= place < used:
            words[:, limb] = sums.limbs[place].astype(np.uint64).astype(np.uint32)
        elif place >= used:
            words[:, limb] = np.where(sums.limbs[-1] < 0, 0xFFFFFFFF, 0)
    valid = pa.array(~missing).buffers()[1] if missing.any() else None
    return pa.Array.from_buffers(kind, sums.size, [valid, pa.py_buffer(words)])


def _extreme(
    one: Wanted, part: ColumnPart, known: np.ndarray, nans: np.ndarray, low: np.ndarray, high: np.ndarray
) -> pa.Array:
    """NaN is above all numbers: the largest value where there is one, and the smallest where there is no other."""
    codes = smallest_between(part.low, low, high) if one.function == "MIN" else largest_between(part.high, low, high)
    not_numbers = nans > 0 if one.function == "MAX" else (nans > 0) & (nans == known)
    codes = np.where(not_numbers, NAN_CODE, codes)
    codes[known == 0] = 0
    values = values_of(codes, is_float(one.kind))
    if is_float(one.kind):
        values[not_numbers] = np.nan
    return as_column(values, one.kind, known == 0)
