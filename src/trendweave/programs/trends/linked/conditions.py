"""The conditions of a plan's edges as compiled conditions on two rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from trendweave.expressions.compiled.condition import NotCompiled
from trendweave.expressions.compiled.paired import LEFT, RIGHT, PairCondition, pair_condition
from trendweave.language import syntax_tree as st
from trendweave.planning.predicates import rewrite_columns
from trendweave.planning.preparation import ComparedColumns, PreparedEdge
from trendweave.rows.encoded import EncodedRows

_ZERO = st.Literal(0)


class LinkConditions:
    """The conditions of edges over the rows of a table, each compiled once."""

    def __init__(self, rows: EncodedRows) -> None:
        self._rows = rows
        self._columns = {name: rows.table.column(name) for name in rows.table.column_names}
        self._made: dict[PreparedEdge, PairCondition | NotCompiled] = {}

    def of(self, edge: PreparedEdge) -> PairCondition | NotCompiled:
        """The condition of an edge, or why it is not compiled."""
        if edge not in self._made:
            parts = [part for comparison in edge.comparisons for part in self._comparison(comparison)]
            parts += [_of_two_rows(general) for general in edge.general]
            self._made[edge] = pair_condition(st.all_of(tuple(parts)) if parts else st.Literal(True), self._columns)
        return self._made[edge]

    def _comparison(self, compared: ComparedColumns) -> list[st.Expression]:
        """A comparison of two columns; by numbers that stand for the values where these are not compiled."""
        plain = st.Comparison(
            compared.operator, st.Attribute((LEFT, compared.previous)), st.Attribute((RIGHT, compared.next))
        )
        if not isinstance(pair_condition(plain, self._columns), NotCompiled):
            return [plain]
        names = [f"code {side} {compared.previous} {compared.next}" for side in (LEFT, RIGHT)]
        for name, codes in zip(names, self._rows.order_codes_of(compared.previous, compared.next), strict=True):
            self._columns[name] = pa.chunked_array([pa.array(codes)])
        left, right = (st.Attribute((side, name)) for side, name in zip((LEFT, RIGHT), names, strict=True))
        # A code below zero is NULL, which compares true with nothing.
        known: list[st.Expression] = [st.Comparison(">=", side, _ZERO) for side in (left, right)]
        return [*known, st.Comparison(compared.operator, left, right)]


def over_rows(condition: PairCondition, take: Callable[[np.ndarray], np.ndarray]) -> PairCondition:
    """The condition over other rows: those that `take` takes of every column."""
    return replace(
        condition, columns=tuple(replace(column, values=take(column.values)) for column in condition.columns)
    )


def _of_two_rows(expression: st.Expression) -> st.Expression:
    """A condition on an event and the one after it, as one on a left and a right row."""

    def name(node: st.Attribute | st.NextAttribute) -> st.Expression:
        return st.Attribute((RIGHT if isinstance(node, st.NextAttribute) else LEFT, *node.names))

    return rewrite_columns(expression, name)
