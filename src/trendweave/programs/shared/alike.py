"""Rules that differ in constants as one program: each rule's number is one more key of its rows.

Rows are copied into the rules that they may play a part in (`copies`), and then a rule is what a partition is to any
trend program: kernels, lists, NOTs, sessions and selections serve thousands of rules as they serve thousands of keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.language.printer import print_expression
from trendweave.planning.plan import KeyColumn, SessionWindow
from trendweave.planning.preparation import Preparation, prepare
from trendweave.programs.program import Output, PartialResults, Program, Scope, Steps
from trendweave.programs.shared.constant_index import VariableRules, index_variables
from trendweave.programs.shared.copies import Copies, RowCopies
from trendweave.programs.shared.unit import MEMBER, Given, SharingMetrics, Unit, by_member, group_by_member
from trendweave.programs.steps import SessionSteps, WindowedSteps
from trendweave.programs.trends.lists.starts import ConsumedStarts
from trendweave.programs.trends.program import (
    TrendAggregates,
    TrendLists,
)
from trendweave.rows.encoded import CHUNK, LETTERS, TIME
from trendweave.sharing.constants import Alike

T = TypeVar("T")


@dataclass(frozen=True)
class AlikeUnit(Unit):
    """Rules of one shape.

    `base` says what rows must have: those that some rule wants, and the values that constants are compared with.
    `inner` computes copies of them, which have the number of their rule as a key and a group.
    """

    alike: Alike
    base: TrendAggregates | TrendLists
    inner: TrendAggregates | TrendLists
    variables: VariableRules

    @property
    def members(self) -> tuple[int, ...]:
        return self.alike.members

    @property
    def source(self) -> Program:
        return self.base

    # All at once

    def compute(self, rows: pa.Table, scope: Scope, metrics: SharingMetrics, in_parts: bool = False) -> Iterator[Given]:
        in_parts = in_parts and self._is_merged
        for table in self._compute(rows, scope, in_parts, metrics):
            yield Given(table, merger=0 if in_parts else None)

    def _compute(self, rows: pa.Table, scope: Scope, in_parts: bool, metrics: SharingMetrics) -> Iterator[pa.Table]:
        """Result rows of prepared rows, rule by rule; or parts of them."""
        if in_parts:
            yield from self._work(rows, metrics, lambda copies: self._partials.compute(copies, scope))
            return
        for output in self._work(rows, metrics, lambda copies: self._start(copies, scope)):
            yield from self._finish(output.batches)

    def _work(self, rows: pa.Table, metrics: SharingMetrics, compute: Callable[[pa.Table], T]) -> Iterator[T]:
        """Compute copies of rows for some rules at a time."""
        if not rows.num_rows:
            return
        copies = RowCopies(self.base.plan, self.base.preparation, rows, self.variables, self.members)

        def work(some: Copies) -> T:
            found = compute(self._write_copies(copies.table, some))
            metrics.copies += some.row.size
            return found

        yield from copies.compute(work)

    def _start(self, copies: pa.Table, scope: Scope) -> Output:
        """Result rows of copies. Trends are built while they are read only if it is known that there are not too many
        of them: what may be shown is a limit of each rule, and not of all together."""
        output = self.inner.compute(copies, scope)
        if output.trends is None or not self._comes_in_order:
            output = Output(iter(list(output.batches)), output.trends)
        return output

    def _write_copies(self, rows: pa.Table, copies: Copies) -> pa.Table:
        kept = {TIME, CHUNK, *(name for name, _ in self.inner.preparation.columns)}
        table = rows.select([name for name in rows.column_names if name in kept]).take(pa.array(copies.row))
        for word in range(copies.letters.shape[1]):
            letters = np.ascontiguousarray(copies.letters[:, word]).view(np.int64)
            table = table.append_column(f"{LETTERS}{word}", pa.array(letters))
        return table.append_column(MEMBER, pa.array(self._numbers[copies.rule]))

    def _finish(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        if self._comes_in_order:
            yield from (by_member(pa.Table.from_batches([batch])) for batch in batches)
            return
        found = [pa.Table.from_batches([batch]) for batch in batches]
        if found:
            yield by_member(pa.concat_tables(found))

    @property
    def _comes_in_order(self) -> bool:
        """Do trends come rule by rule, as they come partition by partition?"""
        plan = self.inner.plan
        chosen = plan.choice is not None or plan.selection is not None or bool(plan.order_by)
        return isinstance(self.inner, TrendLists) and not chosen and not plan.bound_keys

    @cached_property
    def _numbers(self) -> np.ndarray:
        return np.array(self.members, np.int32)

    # In parts

    def mergers(self) -> tuple[PartialResults | None, ...]:
        return (self._partials if self._is_merged else None,)

    @cached_property
    def _is_merged(self) -> bool:
        return self.base.partials() is not None

    @property
    def _partials(self) -> PartialResults:
        assert isinstance(self.inner, TrendAggregates), "only aggregates are merged"
        return self.inner.parts

    # Piece by piece

    def steps(self, in_parts: bool, early: bool, metrics: SharingMetrics) -> Steps | None:
        """Those of any rule: rows wait, or are carried, before they are copied."""
        window, kind = self.base.plan.window, self.base.time_type

        def compute(rows: pa.Table, scope: Scope) -> Output:
            tables = self._compute(rows, scope, in_parts and self._is_merged, metrics)
            return Output(batch for table in tables for batch in table.to_batches())

        if isinstance(window, SessionWindow):
            return SessionSteps(window, kind, self.base.preparation.partition_key, compute)
        if isinstance(self.inner, TrendLists):
            return self.inner.make_steps(compute, partial(self._select, metrics))
        closing = self.base.closing()
        return None if closing is None else WindowedSteps(closing, kind, compute)

    def _select(
        self, metrics: SharingMetrics, rows: pa.Table, taken: ConsumedStarts, before: int | None, watermark: int | None
    ) -> tuple[list[pa.RecordBatch], ConsumedStarts]:
        """As `TrendLists.select`. What is carried knows a rule by its constants, as numbers change with workloads."""
        assert isinstance(self.inner, TrendLists), "only lists are selected from"
        taken = _renumber(taken, self._texts, pa.array(self._numbers))
        batches: list[pa.RecordBatch] = []
        lists = self.inner

        def select(copies: pa.Table) -> tuple[list[pa.RecordBatch], ConsumedStarts]:
            return lists.select(copies, taken, before, watermark)

        for found, after in self._work(rows, metrics, select):
            batches += (batch for one in self._finish(found) for batch in one.to_batches())
            taken = after
        return batches, _renumber(taken, pa.array(self._numbers), self._texts)

    @cached_property
    def _texts(self) -> pa.Array:
        """The constants of each rule, as text."""
        columns = [[", ".join(map(print_expression, one)) for one in column] for column in self.alike.constants]
        return pa.array(["; ".join(row) for row in zip(*columns, strict=True)])


def _renumber(taken: ConsumedStarts, before: pa.Array, after: pa.Array) -> ConsumedStarts:
    """The same with other values in place of those of rules; without those of rules that are not there."""
    if taken.table is None:
        return taken
    place = taken.table.schema.get_field_index(MEMBER)
    numbers = pc.index_in(taken.table.column(place), value_set=before)
    table = taken.table.set_column(place, MEMBER, pc.take(after, numbers))
    return replace(taken, table=table.filter(pc.is_valid(numbers)))


def bind_alike(alike: Alike, member: Program) -> AlikeUnit:
    """The unit of plans that differ in constants.

    Args:
        alike: The plans.
        member: The program of one of them, which says what they are bound to.
    """
    assert isinstance(member, TrendAggregates | TrendLists), "only plans of trends are alike"
    text = f"{len(alike.members)} queries that differ in constants"
    wide = replace(alike.wide_plan, text=text)
    own = prepare(wide, member.type)
    preparation, columns = _with_compared(own, alike)
    keys = (KeyColumn((MEMBER,), None, nullable=False), *wide.partition_key)
    plan = replace(alike.plan, text=text, partition_key=keys)
    prepared = replace(own, partition_key=(MEMBER, *own.partition_key))
    inner = group_by_member(replace(member, plan=plan, prepared=prepared))
    base = replace(member, plan=wide, prepared=preparation)
    return AlikeUnit(alike, base, inner, index_variables(alike, tuple(columns)))


def _with_compared(preparation: Preparation, alike: Alike) -> tuple[Preparation, list[str]]:
    """Prepare the values that constants are compared with, too; and the name of the column of each comparison."""
    names = {expression: name for name, expression in preparation.columns}
    columns = [names.setdefault(compared.value, f"c{len(names)}") for compared in alike.compared]
    return replace(preparation, columns=tuple((name, value) for value, name in names.items())), columns
