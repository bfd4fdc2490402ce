"""Expressions over Arrow columns, by their text, and values that are the same to the last sign."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa

from tests.runners import row_expression
from trendweave.expressions.arrow.evaluate import evaluate

NAN, INF = math.nan, math.inf
LOW, HIGH = -(2**63), 2**63 - 1
#: A text of one character that takes four bytes.
FACE = "😀"


def values_of(text: str, **columns: Any) -> list[Any]:
    arrays = {name: column if isinstance(column, pa.Array) else pa.array(column) for name, column in columns.items()}
    rows = pa.table(arrays) if arrays else pa.table({"only_one_row": [0]})
    return evaluate(row_expression(text), rows).to_pylist()


def same_values(found: list[Any], expected: list[Any]) -> bool:
    """NaN is NaN, 0.0 is not -0.0, 1 is neither 1.0 nor True."""
    return list(map(_identity, found)) == list(map(_identity, expected))


def _identity(value: Any) -> Any:
    return (type(value), repr(value)) if isinstance(value, bool | int | float | Decimal) else value


def check(text: str, expected: list[Any], **columns: Any) -> None:
    found = values_of(text, **columns)
    assert same_values(found, expected), f"{text}: {found}"
