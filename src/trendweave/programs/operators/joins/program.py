"""The windowed join as a program: one row per pair of events that meet."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Self

import numpy as np
import pyarrow as pa

from trendweave.errors import Problem
from trendweave.planning.operator_plans import JoinPlan, RowCount
from trendweave.planning.plan import Path
from trendweave.programs.bound import WholeEvents
from trendweave.programs.operators.bound import BoundOperator
from trendweave.programs.operators.joins.candidates import ActiveWindow, make_sides
from trendweave.programs.operators.joins.conditions import JoinCondition, describe_join, read_parts
from trendweave.programs.operators.joins.searches import PairSearch
from trendweave.programs.operators.joins.sides import Sides, read_side_codes, read_sides, result_columns, write_pairs
from trendweave.programs.operators.ordering import OrderedSide, order_side, order_ties
from trendweave.programs.operators.steps import join_numbered
from trendweave.programs.operators.windows.edges import in_steps
from trendweave.programs.program import EVERYTHING, Arrange, Output, Scope, Steps, TimeCut
from trendweave.programs.steps import PassedSteps, WindowedSteps
from trendweave.results.types import ResultColumn, column_type
from trendweave.rows.closing import Closing
from trendweave.rows.codes import key_codes
from trendweave.rows.dropped import Dropped
from trendweave.rows.encoded import CHUNK, TIME
from trendweave.rows.times import as_steps, time_type

#: A chunk of time is at least so many times as long as what it reads before it.
_CHUNK = 8


@dataclass(frozen=True)
class WindowJoin(BoundOperator):
    """Pairs of events of two sides. A prepared row is an event of one side, or of both.

    Attributes:
        plan: What is joined.
        events: The columns of the one stream of events.
        time: The column that holds the time.
        sides: Where the columns of both sides stand in it.
        windows: The windows over the left and over the right side, in steps.
        device: What computes.
    """

    plan: JoinPlan
    events: pa.Schema
    time: str
    sides: Sides
    windows: tuple[ActiveWindow, ActiveWindow]
    device: str = "cpu"
    #: Pairs are looked for on all cores.
    uses_cores = True

    @property
    def facts(self) -> tuple[str, ...]:
        asked = (repr(self.plan.condition), repr(self.plan.left), repr(self.plan.right))
        return ("join", self.plan.text, self.time, *asked, *self.plan.keys, "by", *self.plan.order_by)

    @cached_property
    def result(self) -> tuple[ResultColumn, ...]:
        return result_columns(self.plan, self.events, self.time, self.sides.columns)

    @cached_property
    def condition(self) -> JoinCondition:
        """The condition, in parts."""
        return read_parts(self.plan.condition)

    def describe(self) -> list[str]:
        """What is done, in plain words."""
        return describe_join(self.plan, self.condition, self.sides, self.events)

    # Prepared rows

    @cached_property
    def columns(self) -> dict[Path, str]:
        used = [name for own in self.sides.columns.values() for name in own.values() if name != self.time]
        marked = [] if self.sides.marked_by is None else [self.sides.marked_by]
        return {(name,): self._prepared(name) for name in dict.fromkeys([*marked, *used])}

    def _prepared(self, column: str) -> str:
        return WholeEvents(self.events, self.time).name(column)

    @cached_property
    def prepared_sides(self) -> dict[str, dict[str, str]]:
        """By side: the names of its columns, and those of prepared rows."""
        return {
            side: {name: self._prepared(column) for name, column in own.items()}
            for side, own in self.sides.columns.items()
        }

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The columns of keys in prepared rows."""
        return tuple(self._prepared(name) for name in self.plan.keys)

    def prepare(self, events: pa.Table) -> tuple[pa.Table, Dropped]:
        prepared, dropped = super().prepare(events)
        self._side_codes(prepared)
        return prepared, dropped

    def _side_codes(self, rows: pa.Table) -> np.ndarray | None:
        marked_by = self.sides.marked_by
        return None if marked_by is None else read_side_codes(rows.column(self._prepared(marked_by)))

    # All at once

    def order(
        self, rows: pa.Table, numbers: np.ndarray | None = None, chunked: bool = False
    ) -> tuple[OrderedSide, OrderedSide]:
        """Both sides in order.

        Args:
            rows: Prepared rows.
            numbers: How many events of its key and side came before each row; negative where its place tells.
            chunked: Are rows of different chunks of time apart?
        """
        keys = (*self.keys, CHUNK) if chunked else self.keys
        codes = key_codes([rows.column(name) for name in keys], rows.num_rows)
        numbers = np.full(rows.num_rows, -1) if numbers is None else numbers
        sides = self._side_codes(rows)
        found: list[OrderedSide] = []
        for number, side in enumerate(("left", "right")):
            own = np.ones(rows.num_rows, np.bool_) if sides is None else sides == number
            held = own & (numbers >= 0)
            before = np.full(int(codes.max(initial=-1)) + 1, 2**62)
            np.minimum.at(before, codes[held], numbers[held])
            before[before == 2**62] = 0
            columns = self.prepared_sides[side]
            table = rows if sides is None else rows.select(self._of_side(rows, side)).filter(pa.array(own))
            ties = tuple(columns[name] for name in (*self.plan.order_by, *columns) if name != self.time)
            found.append(order_side(table, codes[own], before, self.time_type, ties))
            if sides is None:
                return found[0], found[0]
        return found[0], found[1]

    def _of_side(self, rows: pa.Table, side: str) -> list[str]:
        """The columns that rows of a side need: its own, and those that all rows have."""
        others = {name for own in self.prepared_sides.values() for name in own.values()}
        others -= {TIME, *self.prepared_sides[side].values()}
        return [name for name in rows.column_names if name not in others]

    def find(self, left: OrderedSide, right: OrderedSide) -> PairSearch:
        """What is to be joined."""
        sides = make_sides(self.condition, (left, right), self.prepared_sides)
        return PairSearch(sides, self.windows, self.condition, self.device)

    def compute(self, rows: pa.Table, scope: Scope = EVERYTHING) -> Output:
        return self.write(*self.order(rows, chunked=scope.chunk is not None), scope)

    def write(self, left: OrderedSide, right: OrderedSide, scope: Scope) -> Output:
        """Rows of pairs whose time is asked for."""
        wanted = [_wanted(side, scope) for side in (left, right)]

        def write(*places: np.ndarray) -> list[pa.RecordBatch]:
            return write_pairs(self.schema, self.plan.keys, self.prepared_sides, (left, right), places, scope.counted)

        return Output(self.find(left, right).rows(write, wanted))

    def for_part(self, parts: int) -> Self:
        """On one core: a join would deal out its own pairs."""
        return replace(self, device="cpu")

    def arranging(self, by_time: bool = False) -> Arrange:
        return self.arrange

    def arrange(self, rows: pa.Table) -> pa.Table:
        """Rows of several places in the order of rows of one: by time, then by the left event. Rows of one time and of
        equal left events are of one key, so they come from one place, in order."""
        steps = as_steps(rows.column(self.time), self.time_type)
        order = np.argsort(steps, kind="stable")
        columns = self.sides.columns["left"]
        shown = {name: name if name in self.plan.keys else f"left_{name}" for name in columns}
        times = rows.column(shown[self.time])
        ties = [rows.column(shown[name]) for name in (*self.plan.order_by, *columns) if name != self.time]
        by_left = [as_steps(times, time_type(times.type)), *ties]
        return rows.take(pa.array(order_ties(steps[order], order, by_left)))

    # In parts, and piece by piece

    @property
    def reach(self) -> int | None:
        """How many steps back windows reach; None where that is not a matter of time."""
        reaches = [window.reach for window in self.windows if not isinstance(window, RowCount)]
        return max(reaches) if len(reaches) == 2 else None

    def cut(self, wanted: int | None = None) -> TimeCut | None:
        """A chunk of time owns the pairs whose later event lies in it."""
        reach = self.reach
        if reach is None or reach >= 2**60:
            return None
        asked = _CHUNK * reach if wanted is None else wanted // self.time_type.step
        return TimeCut(max(asked, reach, 1), before=reach)

    def steps(self, in_parts: bool = False, early: bool = False) -> Steps | None:
        if self.reach is None:
            return PassedSteps(partial(join_numbered, self))

        # An event meets those before it, so events wait as long as windows reach; they go one by one.
        def compute(rows: pa.Table, scope: Scope) -> Output:
            assert scope.windows is not None
            first, last = scope.windows
            return self.compute(rows, replace(scope, windows=(first, last + 1)))

        return WindowedSteps(Closing(self.reach, 0, panes=0), self.time_type, compute)

    def problems_of_early_rows(self) -> list[Problem]:
        message = "pairs are returned as soon as the later event is final; there are no early rows"
        return [Problem("TW409", message, "remove early=")]


def _wanted(side: OrderedSide, scope: Scope) -> np.ndarray | None:
    """Events of a side whose pairs are asked for."""
    wanted = None
    if scope.windows is not None:
        wanted = (side.steps >= scope.windows[0]) & (side.steps < scope.windows[1])
    if scope.chunk is not None:
        own = side.table.column(CHUNK).to_numpy() == np.floor_divide(side.steps, scope.chunk)
        wanted = own if wanted is None else wanted & own
    return wanted


def bind_join(plan: JoinPlan, events: pa.Schema, time: str, device: str = "cpu") -> WindowJoin:
    """The program of a windowed join.

    Args:
        plan: Fits the columns.
        events: The columns of events as `merge_sides` makes them, or of one table with or without a column `side`.
        time: The column that holds the time.
        device: What computes.

    Raises:
        DataError: A window is finer than the time column.
    """
    kind = time_type(column_type(events, (time,)))
    windows = (in_steps(plan.left, kind), in_steps(plan.right, kind))
    return WindowJoin(plan, events, time, read_sides(plan, events, time), windows, device)
