"""Compares two sets of result rows: the order of rows and of columns is free, nothing else is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

RELATIVE_TOLERANCE = 1e-9


def assert_same_rows(
    expected: Iterable[Mapping[str, Any]],
    actual: Iterable[Mapping[str, Any]],
    context: str = "",
    relative_tolerance: float = RELATIVE_TOLERANCE,
) -> None:
    """Raise AssertionError, with the rows that differ, unless both hold the same rows the same number of times."""
    missing, unexpected = difference(expected, actual, relative_tolerance)
    if not missing and not unexpected:
        return
    lines = ["the rows differ" + (f": {context}" if context else "")]
    lines += [f"  - missing:    {_shown(row)}" for row in missing]
    lines += [f"  + unexpected: {_shown(row)}" for row in unexpected]
    raise AssertionError("\n".join(lines))


def difference(
    expected: Iterable[Mapping[str, Any]],
    actual: Iterable[Mapping[str, Any]],
    relative_tolerance: float = RELATIVE_TOLERANCE,
) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """The expected rows that are missing, and the actual rows nobody expected. Each row is used up by one other."""
    missing, unexpected = [], list(actual)
    for row in expected:
        for place, candidate in enumerate(unexpected):
            if same_row(row, candidate, relative_tolerance):
                del unexpected[place]
                break
        else:
            missing.append(row)
    return missing, unexpected


def same_row(left: Mapping[str, Any], right: Mapping[str, Any], relative_tolerance: float = RELATIVE_TOLERANCE) -> bool:
    return left.keys() == right.keys() and all(same_value(left[name], right[name], relative_tolerance) for name in left)


def same_value(left: Any, right: Any, relative_tolerance: float = RELATIVE_TOLERANCE) -> bool:
    """Integers exactly, doubles within the tolerance, NaN as NaN; an integer is never the same as a double."""
    left, right = _integer(left), _integer(right)
    if type(left) is not type(right):
        return False
    if isinstance(left, float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return math.isclose(left, right, rel_tol=relative_tolerance)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same_value, left, right))
    return left == right


def _integer(value: Any) -> Any:
    """Counts beyond 64 bits may come as decimals without a fraction; they are integers all the same."""
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        return int(value)
    return value


def _shown(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in row.items())
