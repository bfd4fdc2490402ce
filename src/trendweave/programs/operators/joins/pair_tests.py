"""What is left of a condition to be asked of pairs: compiled as far as that goes, the rest on Arrow columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from trendweave.expressions.arrow.evaluate import is_true
from trendweave.expressions.compiled.condition import Compiled, compile_condition
from trendweave.expressions.compiled.loading import read_operand
from trendweave.language import syntax_tree as st
from trendweave.programs.operators.joins.conjuncts import rename
from trendweave.programs.operators.joins.loops import check_pairs
from trendweave.programs.operators.joins.ordered import OrderedSide
from trendweave.rows.ordering import take_rows

#: To compile a condition takes as long as to test so many pairs with Arrow.
FEW = 10_000_000


@dataclass(frozen=True)
class PairTest:
    """Conditions on pairs that must all be true.

    Attributes:
        parts: The conditions.
        left: The left events.
        right: The right events.
        columns: By side: the names of its columns, and those of prepared rows.
        tested: How many pairs were tested so far.
    """

    parts: tuple[st.Expression, ...]
    left: OrderedSide
    right: OrderedSide
    columns: Mapping[str, Mapping[str, str]]
    tested: list[int] = field(default_factory=lambda: [0])

    @cached_property
    def compiled(self) -> Compiled | None:
        """All parts that have a compiled form, as one condition; None where there are none."""
        sides = self._sides()
        found = [part for part in self.parts if isinstance(compile_condition(part, sides), Compiled)]
        if not found:
            return None
        whole = compile_condition(found[0] if len(found) == 1 else st.AllOf(tuple(found)), sides)
        return whole if isinstance(whole, Compiled) else None

    @cached_property
    def others(self) -> tuple[st.Expression, ...]:
        """The parts without a compiled form."""
        sides = self._sides()
        return tuple(part for part in self.parts if not isinstance(compile_condition(part, sides), Compiled))

    def _sides(self) -> dict[str, pa.Schema]:
        """The columns of both sides; those without NULL are not nullable."""
        found = {}
        for side, rows in (("left", self.left), ("right", self.right)):
            fields = []
            for name, prepared in self.columns[side].items():
                column = rows.table.column(prepared)
                fields.append(pa.field(name, column.type, column.null_count > 0 or pa.types.is_null(column.type)))
            found[side] = pa.schema(fields)
        return found

    def arrays(self, orders: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """What the compiled condition reads, by rank, or in another order of a side."""
        assert self.compiled is not None
        found = []
        for operand in self.compiled.operands:
            rows = self.left if operand.side == "left" else self.right
            column = rows.table.column(self.columns[operand.side][operand.column])
            for array in read_operand(operand, column):
                order = orders.get(operand.side)
                found.append(array if order is None else array[order])
        return found

    @cached_property
    def _by_rank(self) -> list[np.ndarray]:
        return self.arrays({})

    def mask(self, left: np.ndarray, right: np.ndarray, is_compiled: bool | None) -> np.ndarray:
        """Which pairs of ranks pass.

        Args:
            left: The left ranks.
            right: The right ranks.
            is_compiled: Shall the compiled condition be used? None: as soon as there are many.
        """
        self.tested[0] += left.size
        if is_compiled is None:
            is_compiled = self.tested[0] > FEW
        if not is_compiled or self.compiled is None:
            return self.mask_by_arrow(self.parts, left, right)
        holds = check_pairs(self.compiled, self._by_rank, left, right)
        if self.others:
            holds[holds] = self.mask_by_arrow(self.others, left[holds], right[holds])
        return holds

    def mask_by_arrow(self, parts: Sequence[st.Expression], left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """For which pairs of ranks some conditions are true."""
        holds = np.ones(left.size, np.bool_)
        for part in parts:
            kept = np.flatnonzero(holds)
            needed = {node.names[:2] for node in part.walk() if isinstance(node, st.Attribute)}
            taken = {}
            for side, name in needed:
                rows, ranks = (self.left, left) if side == "left" else (self.right, right)
                taken[f"{side}.{name}"] = take_rows(rows.table.column(self.columns[side][name]), ranks[kept])
            holds[kept] = is_true(rename(part, lambda names: (".".join(names[:2]), *names[2:])), pa.table(taken))
        return holds
