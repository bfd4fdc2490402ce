"""A chain of operators as one program: rows of one are events of the next.

Filters at its beginning are part of preparing rows. What a later operator keeps, its rows that wait and what it carries
on, stands in the carry of the chain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from trendweave.errors import ExecutionError, Problem
from trendweave.language.syntax_tree import Attribute
from trendweave.planning.plan import Path
from trendweave.programs.operators.chain_steps import ChainSteps, LaterStage
from trendweave.programs.operators.filter import KeptEvents
from trendweave.programs.operators.stages import Stage, result_of, shared_keys
from trendweave.programs.program import EVERYTHING, Needs, Output, PartialResults, Program, Scope, Steps, TimeCut, Work
from trendweave.results.types import ResultColumn, result_schema
from trendweave.rows.dropped import Dropped, report_dropped
from trendweave.rows.times import keep_rows_with_time


@dataclass(frozen=True)
class ChainedRows:
    """Rows of the last of several operators. `filters` come before all of them. Where filters are all that there is
    besides one operator, everything but the filters is its own."""

    filters: tuple[KeptEvents, ...]
    stages: tuple[Stage, ...]
    text: str

    @property
    def _first(self) -> Program:
        return self.stages[0].program

    @property
    def _alone(self) -> bool:
        return len(self.stages) == 1

    @property
    def events(self) -> pa.Schema:
        return self.filters[0].events if self.filters else self._first.events

    @property
    def facts(self) -> tuple[str, ...]:
        return ("chain", self.text, *self._first.facts)

    @property
    def work(self) -> Work:
        return self._first.work

    @property
    def moment(self) -> pa.DataType:
        return self._first.moment

    @cached_property
    def result(self) -> tuple[ResultColumn, ...]:
        return result_of((*(Stage(program, None) for program in self.filters), *self.stages))

    @cached_property
    def schema(self) -> pa.Schema:
        return result_schema(self.result)

    @cached_property
    def needs(self) -> Needs:
        first = self._first.needs
        named = {name for program in self.filters for name in columns_of(program)}
        read = tuple(dict.fromkeys((*first.read, *sorted(named))))
        if self._alone:
            return replace(first, read=read)
        return replace(first, read=read, together=self.together, merged=self.together)

    @cached_property
    def together(self) -> tuple[Path, ...]:
        """What prepared rows meet by."""
        return shared_keys(self.stages)

    def prepare(self, events: pa.Table) -> tuple[pa.Table, Dropped]:
        first = self._first
        if not self.filters:
            return first.prepare(events)
        rows = events.num_rows
        events, null_time = keep_rows_with_time(events, self.filters[0].time)
        for program in self.filters:
            events = program.keep(events)
        prepared, dropped = first.prepare(events)
        return prepared, replace(dropped, rows=rows, null_time=null_time)

    def adopt(self, rows: pa.Table) -> pa.Table:
        return self._first.adopt(rows)

    def compute(self, rows: pa.Table, scope: Scope = EVERYTHING) -> Output:
        return self._first.compute(rows, scope) if self._alone else self.go_on(self._first.compute(rows), scope)

    def go_on(self, output: Output, scope: Scope = EVERYTHING) -> Output:
        """Result rows, of rows of the first operator."""
        before = self._first
        for number, stage in enumerate(self.stages[1:], 2):
            found = pa.Table.from_batches(output.batches, before.schema)
            last = number == len(self.stages)
            prepared, dropped = stage.program.prepare(found)
            report_dropped(dropped)
            output = stage.program.compute(prepared, replace(EVERYTHING, counted=scope.counted and last))
            before = stage.program
        return Output(output.batches, output.trends)

    def partials(self) -> PartialResults | None:
        """None of several operators: what is spread over keys that rows do not meet by meets as well."""
        return self._first.partials() if self._alone else None

    def cut(self, wanted: int | None = None) -> TimeCut | None:
        return self._first.cut(wanted) if self._alone else None

    def steps(self, in_parts: bool = False, early: bool = False) -> Steps | None:
        if self._alone:
            return self._first.steps(in_parts, early)
        first = self._first.steps()
        later, lag = [], self.stages[0].lag
        for stage, before in zip(self.stages[1:], self.stages, strict=False):
            steps = None if stage.is_filter else stage.program.steps()
            if steps is None and not stage.is_filter:
                return None
            if stage.program.moment != self.moment:
                message = f"the time column is {self.moment} at first and {stage.program.moment} after an operator"
                raise ExecutionError([Problem("TW409", message, "give rows times of the same type")], self.text)
            later.append(LaterStage(stage.program, steps, before.program.schema, lag))
            lag += stage.lag if stage is not self.stages[-1] else 0
        return None if first is None else ChainSteps(first, tuple(later), self.text)

    def problems_of_early_rows(self) -> list[Problem]:
        if self._alone:
            return self._first.problems_of_early_rows()
        message = "rows of an operator are events of the next one, which cannot be withdrawn; there are no early ones"
        return [Problem("TW409", message, "remove early=")]

    def describe_key(self, rows: pa.Table, row: int) -> str:
        return self._first.describe_key(rows, row)


def columns_of(program: KeptEvents) -> set[str]:
    """The columns that a filter looks at."""
    read = {node.names[0] for node in program.plan.condition.walk() if isinstance(node, Attribute)}
    return read | {program.time}


def make_chain(stages: tuple[Stage, ...], text: str, filtered: bool = False) -> Program:
    """The program of some operators, each bound to the rows of the one before.

    Args:
        stages: At least one.
        text: How the chain is written.
        filtered: Whether filters that stand in the text have left events out already.
    """
    if len(stages) == 1 and not filtered:
        return stages[0].program
    number = next((number for number, stage in enumerate(stages) if not stage.is_filter), len(stages) - 1)
    filters = tuple(stage.program for stage in stages[:number] if isinstance(stage.program, KeptEvents))
    return ChainedRows(filters, stages[number:], text)
