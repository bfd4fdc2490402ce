"""Conditions of transitions as compiled conditions on two rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from trendweave.expressions.compiled.condition import NotCompiled
from trendweave.expressions.compiled.paired import LEFT, RIGHT, PairColumn, PairCondition, pair_condition
from trendweave.kernels import Condition
from trendweave.language import syntax_tree as st
from trendweave.planning.planner import columns_of
from trendweave.planning.predicates import rewrite_columns
from trendweave.planning.preparation import PreparedEdge
from trendweave.programs.trends.kernel_inputs import KernelInputs, Piece
from trendweave.programs.trends.pair_tests import pair_test

_ZERO = st.Literal(0)
_ORDERS = ("<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True)
class LinkCondition:
    """When a row can follow an earlier one along a transition.

    Attributes:
        pair: What is tested of two rows.
        equal: Codes of the earlier and of the later row that must be equal, and not below zero.
        order: A comparison of codes that `pair` tests, too: those of the earlier row, its operator, those of the later.
        guard: Per later row, the tick before which no earlier one can be.
        answers: Where a part of the condition was decided beforehand, for all pairs of the last two columns of `pair`.
        why_not: What of the condition is not compiled, and decided beforehand.
    """

    pair: PairCondition
    equal: tuple[np.ndarray, np.ndarray] | None
    order: tuple[np.ndarray, str, np.ndarray] | None
    guard: np.ndarray | None
    answers: np.ndarray | None = None
    why_not: str | None = None

    def cut(self, rows: slice) -> LinkCondition:
        """The same over some of the rows."""
        columns = tuple(replace(column, values=column.values[rows]) for column in self.pair.columns)
        return replace(
            self,
            pair=replace(self.pair, columns=columns),
            equal=self.equal and (self.equal[0][rows], self.equal[1][rows]),
            order=self.order and (self.order[0][rows], self.order[1], self.order[2][rows]),
            guard=None if self.guard is None else self.guard[rows],
        )


@dataclass(frozen=True, slots=True)
class Candidates:
    """The rows that can follow some sources along a transition as far as time, windows and equal values say: those of
    the targets from `low` to `high`. Sources and targets are row numbers, `state` is where the transition leads."""

    state: int
    condition: LinkCondition
    sources: np.ndarray
    targets: np.ndarray
    low: np.ndarray
    high: np.ndarray


#: Gives the places of sources and of targets between `low` and `high` of their source that meet the condition, the
#: sources of each target ascending: all of them, or None where there are more than so many; or, without a number, of
#: each source the first.
Linker: TypeAlias = Callable[[Candidates, int | None], tuple[np.ndarray, np.ndarray] | None]


def link_conditions(inputs: KernelInputs, piece: Piece) -> list[LinkCondition]:
    """The conditions of the transitions of a piece, over its rows; each is compiled once."""
    edges = inputs.edges_of(piece.template)
    plain = copy(inputs)
    plain.preparation = replace(
        inputs.preparation, edges=tuple(replace(edge, general=()) for edge in inputs.preparation.edges)
    )
    made: dict[Any, LinkCondition] = {}
    found = []
    for edge, condition in zip(edges, plain.conditions(piece), strict=True):
        key = (edge.general, *((id(one.previous), one.operator, id(one.next)) for one in condition.comparisons))
        if key not in made:
            made[key] = _compile(inputs, piece, edge, condition)
        found.append(replace(made[key], guard=condition.guard))
    return found


def _compile(inputs: KernelInputs, piece: Piece, edge: PreparedEdge, condition: Condition) -> LinkCondition:
    columns: dict[str, pa.ChunkedArray] = {}
    parts: list[st.Expression] = []
    equal, order = None, None
    for place, one in enumerate(condition.comparisons):
        codes = [np.ascontiguousarray(side, np.int64) for side in (one.previous, one.next)]
        if one.operator == "=" and equal is None:
            equal = codes[0], codes[1]
            continue
        if one.operator in _ORDERS and order is None:
            order = codes[0], one.operator, codes[1]
        names = [f"code {place} {side}" for side in (LEFT, RIGHT)]
        sides = [st.Attribute((side, name)) for side, name in zip((LEFT, RIGHT), names, strict=True)]
        for name, side, values in zip(names, sides, codes, strict=True):
            columns[name] = pa.chunked_array([pa.array(values)])
            if values.min(initial=0) < 0:  # NULL, which compares true with nothing
                parts.append(st.Comparison(">=", side, _ZERO))
        parts.append(st.Comparison(one.operator, *sides))
    general = [_of_two_rows(part) for part in edge.general]
    row = pa.array(piece.segments.row)
    read = {path[0] for part in edge.general for later in (False, True) for path in columns_of(part, later)}
    columns |= {name: inputs.rows.table.column(name).take(row) for name in read}
    compiled = _all_of([*parts, *general], columns)
    if not isinstance(compiled, NotCompiled):
        return LinkCondition(compiled, equal, order, None)
    known = pair_test(edge.general, inputs.rows.table, piece.segments)
    rest = _all_of(parts, columns)
    assert known is not None, "codes are compared by compiled code"
    assert not isinstance(rest, NotCompiled), rest
    numbers = [np.ascontiguousarray(side, np.int64) for side in (known.previous, known.next)]
    asked = PairColumn(LEFT, numbers[0]), PairColumn(RIGHT, numbers[1])
    pair = replace(rest, columns=(*rest.columns, *asked))
    return LinkCondition(pair, equal, order, None, np.ascontiguousarray(known.answers), compiled.reason)


def _all_of(parts: Sequence[st.Expression], columns: dict[str, pa.ChunkedArray]) -> PairCondition | NotCompiled:
    return pair_condition(st.all_of(tuple(parts)) if parts else st.Literal(True), columns)


def _of_two_rows(expression: st.Expression) -> st.Expression:
    """A condition on an event and the one after it, as one on a left and a right row."""

    def name(node: st.Attribute | st.NextAttribute) -> st.Expression:
        return st.Attribute((RIGHT if isinstance(node, st.NextAttribute) else LEFT, *node.names))

    return rewrite_columns(expression, name)
