"""Columns that a condition reads: how they lie in memory, and as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.types as types

from trendweave.expressions.compiled.steps import FALSE, TRUE, Constant, Name, Reference, Steps
from trendweave.expressions.compiled.values import NULL, CannotCompile, Kind, Typed, multiply_by
from trendweave.language import syntax_tree as st


@dataclass(frozen=True, slots=True)
class Operand:
    """A column that a condition reads.

    Attributes:
        side: Of which row: left or right, or nothing where there is one row.
        column: Its name.
        dtype: How it lies in memory, and how the condition takes it.
        nullable: Takes the condition its validity, too? As the schema says.
    """

    side: str
    column: str
    dtype: np.dtype
    nullable: bool


class Columns:
    """The columns of all sides, as they are used."""

    def __init__(self, steps: Steps, sides: Mapping[str, pa.Schema]) -> None:
        self.operands: list[Operand] = []
        self._steps = steps
        self._sides = sides

    def arguments(self) -> list[tuple[str, str]]:
        """Names and dtypes of what the function takes."""
        taken = []
        for number, operand in enumerate(self.operands):
            taken.append((f"a{number}", operand.dtype.name))
            if operand.nullable:
                taken.append((f"a{number}_valid", "bool"))
        return taken

    def presence(self, attribute: st.Attribute) -> Reference:
        """Is the value of a column not NULL?"""
        operand, _ = self._operand(attribute)
        return FALSE if operand is None else operand[1]

    def value(self, attribute: st.Attribute) -> Typed:
        """A column in the one type of its kind."""
        operand, kind = self._operand(attribute)
        if operand is None:
            return NULL
        stored, valid = operand
        steps = self._steps
        if types.is_boolean(kind):
            return Typed(Kind.BOOLEAN, stored, valid)
        if types.is_floating(kind):
            wide = stored if types.is_float64(kind) else steps.make("to_float", stored)
            return Typed(Kind.FLOAT, wide, valid)
        number = stored if kind.bit_width == 64 and not types.is_uint64(kind) else steps.make("to_integer", stored)
        if types.is_uint64(kind):
            is_too_large = steps.make("less_integer", number, Constant(0))
            return Typed(Kind.INTEGER, number, steps.both(valid, steps.inverse(is_too_large)))
        if types.is_integer(kind):
            return Typed(Kind.INTEGER, number, valid)
        if types.is_date32(kind):
            return Typed(Kind.DATE, number, valid)
        time = Kind.DURATION if types.is_duration(kind) else Kind.TIMESTAMP
        if kind.unit == "ns":
            return Typed(time, number, valid, "ns")
        return multiply_by(steps, Typed(time, number, valid, "us"), {"s": 1_000_000, "ms": 1_000, "us": 1}[kind.unit])

    def _operand(self, attribute: st.Attribute) -> tuple[tuple[Name, Reference] | None, pa.DataType]:
        """The value and the validity of a column, and its type; no value where the type holds nothing but NULL."""
        names = attribute.names
        side, path = ("", names) if "" in self._sides else (names[0], names[1:])
        if len(path) != 1 or side not in self._sides:
            raise CannotCompile(f"{'.'.join(names)}, which is not a column by itself")
        field = self._sides[side].field(path[0])
        if types.is_null(field.type):
            return None, field.type
        dtype = _storage(field.type)
        if dtype is None:
            raise CannotCompile(f"{'.'.join(names)} of type {field.type}")
        operand = Operand(side, path[0], dtype, field.nullable)
        if operand not in self.operands:
            self.operands.append(operand)
        name = f"a{self.operands.index(operand)}"
        return (Name(name), Name(f"{name}_valid") if operand.nullable else TRUE), field.type


def _storage(kind: pa.DataType) -> np.dtype | None:
    if types.is_boolean(kind):
        return np.dtype(np.bool_)
    if types.is_integer(kind) or types.is_float32(kind) or types.is_float64(kind):
        return np.dtype(kind.to_pandas_dtype())
    if types.is_date32(kind):
        return np.dtype(np.int32)
    return np.dtype(np.int64) if types.is_timestamp(kind) or types.is_duration(kind) else None
