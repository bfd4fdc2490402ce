"""What secondary indexes can be asked for a symbol: terms, each of which every event of the symbol meets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from trendweave.language import syntax_tree as st
from trendweave.store.patterns.rewriting.ranges import Range, read_comparison, read_constant


@dataclass(frozen=True, slots=True)
class Term:
    """An event meets one of these: the value of a column lies in a range."""

    alternatives: tuple[tuple[str, Range], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(column for column, _ in self.alternatives))

    def __str__(self) -> str:
        shown = [f"{column} {part}" for column, asked in self.alternatives for part in [str(asked)]]
        return " or ".join(shown[:3]) + (f" or {len(shown) - 3} more" if len(shown) > 3 else "")


def find_terms(
    condition: st.Expression | None, schema: pa.Schema, is_indexed: Callable[[str], bool]
) -> tuple[Term, ...]:
    """The terms of a condition: it holds only where all of them do. AND gives the terms of all of its parts, those of
    one column as one; OR gives one term where each of its parts has one.

    Args:
        condition: Of a symbol.
        schema: The columns of the events.
        is_indexed: Whether a column has an index that can be asked.
    """
    match condition:
        case st.AllOf(parts=parts):
            return _join([term for part in parts for term in find_terms(part, schema, is_indexed)])
        case st.AnyOf(parts=parts):
            options = [find_terms(part, schema, is_indexed) for part in parts]
            if not all(options):
                return ()
            return (Term(tuple(one for terms in options for one in terms[0].alternatives)),)
        case st.Between(operand=operand, low=low, high=high, negated=False):
            bounds = (st.Comparison(">=", operand, low), st.Comparison("<=", operand, high))
            return find_terms(st.AllOf(bounds), schema, is_indexed)
        case st.InList(operand=st.Attribute(names=(name,)), options=values, negated=False) if name in schema.names:
            found = [read_constant(value, schema.field(name).type) for value in values]
            if not is_indexed(name) or None in found:
                return ()
            points = dict.fromkeys(found)
            return (Term(tuple((name, Range(point, point)) for point in points)),)
        case st.Comparison():
            comparison = read_comparison(condition, schema)
            if comparison is None or comparison.range is None or not is_indexed(comparison.column):
                return ()
            return (Term(((comparison.column, comparison.range),)),)
    return ()


def _join(terms: list[Term]) -> tuple[Term, ...]:
    """Terms of one range each of the same column as one."""
    single: dict[str, Range] = {}
    others = []
    for term in terms:
        column, asked = term.alternatives[0]
        if len(term.alternatives) > 1:
            others.append(term)
        else:
            single[column] = single[column].and_(asked) if column in single else asked
    return (*(Term(((column, asked),)) for column, asked in single.items()), *dict.fromkeys(others))
