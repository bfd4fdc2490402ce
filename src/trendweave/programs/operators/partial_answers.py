"""Aggregates of slices added up to windows. No sum is rounded before the last step."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from trendweave.programs.operators.exact_sums import ExactSums, as_integers
from trendweave.programs.operators.kernels.rounding import round_quotients
from trendweave.programs.operators.kernels.sliding import largest_between, smallest_between
from trendweave.programs.operators.measured import NAN_CODE, as_column, codes_of, is_float, values_of
from trendweave.programs.operators.partials import ColumnPart
from trendweave.results.types import DIGITS

_INFINITE = codes_of(np.array([np.inf, -np.inf]))
#: Limbs of floats count multiples of the smallest float.
_SMALLEST = -1074


def sum_between(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    total = np.concatenate((np.zeros(1, np.int64), np.cumsum(values)))
    return total[high] - total[low]


def aggregate_slices(function: str, kind: pa.DataType, part: ColumnPart, low: np.ndarray, high: np.ndarray) -> pa.Array:
    """An aggregate of windows, each of which has the slices low[i] <= place < high[i]; both ascend.

    Args:
        function: COUNT, SUM, AVG, MIN or MAX.
        kind: The type of the column.
        part: The column in slices.
        low: The first slice of each window.
        high: The first slice behind it.
    """
    known = sum_between(part.known, low, high)
    if function == "COUNT":
        return pa.array(known, pa.int64())
    nans = sum_between(part.nans, low, high) if part.nans.any() else np.zeros(known.size, np.int64)
    if function in ("MIN", "MAX"):
        return _extreme(function, kind, part, known, nans, low, high)
    sums = part.sums.between(low, high)
    if not is_float(kind):
        return _whole(function, kind, sums, known)
    divisors = np.maximum(known, 1) if function == "AVG" else np.ones(known.size, np.int64)
    values = _rounded(sums, _SMALLEST, divisors)
    infinite = [sum_between((codes == code).astype(np.int64), low, high) > 0
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


def _whole(function: str, kind: pa.DataType, sums: ExactSums, known: np.ndarray) -> pa.Array:
    missing = known == 0
    if function == "SUM":
        return _decimals(sums, pa.decimal128(DIGITS, kind.scale if pa.types.is_decimal(kind) else 0), missing)
    scale = 10**kind.scale if pa.types.is_decimal(kind) else 1
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
    function: str,
    kind: pa.DataType,
    part: ColumnPart,
    known: np.ndarray,
    nans: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> pa.Array:
    """NaN is above all numbers: the largest value where there is one, and the smallest where there is no other."""
    codes = smallest_between(part.low, low, high) if function == "MIN" else largest_between(part.high, low, high)
    not_numbers = nans > 0 if function == "MAX" else (nans > 0) & (nans == known)
    codes = np.where(not_numbers, NAN_CODE, codes)
    codes[known == 0] = 0
    values = values_of(codes, is_float(kind))
    if is_float(kind):
        values[not_numbers] = np.nan
    return as_column(values, kind, known == 0)
