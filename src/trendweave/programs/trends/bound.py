"""A trend plan bound to the columns of some events: what aggregates and lists of trends have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from trendweave.errors import ExecutionError, Problem
from trendweave.kernels.sorting import find_starts
from trendweave.language.durations import duration_text
from trendweave.planning.chunks import choose_chunks
from trendweave.planning.matches.certainty import Certainty, plan_certainty
from trendweave.planning.plan import MovingWindow, Path, Plan, SlidingWindow
from trendweave.planning.preparation import Preparation, order_ties, prepare
from trendweave.programs.bound import BoundPlan
from trendweave.programs.program import Flag, Needs, TieKeys, TimeCut
from trendweave.programs.trends.detection import LIMITS, Limits
from trendweave.results.types import Numbers, ResultColumn, base_columns, result_schema, trend_columns
from trendweave.rows.closing import Closing
from trendweave.rows.codes import key_codes
from trendweave.rows.dropped import Dropped
from trendweave.rows.encoded import LETTERS, TIME
from trendweave.rows.times import TimeType, as_steps, steps_of

#: A template with at most so many states times transitions costs little per event, however many there are.
_SMALL_TEMPLATE = 10_000


@dataclass(frozen=True)
class BoundTrends(BoundPlan):
    """A trend plan bound to the columns of some events: all that does not depend on what is returned.

    `prepared` says how rows are prepared where the plan alone does not. `device` is what computes: rows and states do
    not depend on it. `order_by` names the columns that order events of one time. `limits` say what is refused.
    """

    plan: Plan
    events: pa.Schema
    time: str
    type: str | None
    numbers: Numbers
    prepared: Preparation | None = None
    device: str = "cpu"
    order_by: tuple[str, ...] = ()
    limits: Limits = LIMITS

    @cached_property
    def preparation(self) -> Preparation:
        """How rows are prepared. It is settled when it is asked for: of thousands of queries few may be."""
        return order_ties(prepare(self.plan, self.type), self.order_by) if self.prepared is None else self.prepared

    @property
    def facts(self) -> tuple[str, ...]:
        rule = () if self.needs.rule is None else (self.needs.rule,)
        order = ("order by", *self.order_by) if self.order_by else ()
        return (self.plan.text, self.time, str(self.type), self.numbers, *rule, *order)

    @cached_property
    def result(self) -> tuple[ResultColumn, ...]:
        return trend_columns(self.plan, self.events, self.time, self.type, self.numbers)

    @cached_property
    def base(self) -> pa.Schema:
        """The columns that outputs are computed of; those of the result where nothing is computed."""
        return result_schema(base_columns(self.plan, self.events, self.time, self.type, self.numbers))

    @cached_property
    def needs(self) -> Needs:
        plan = self.plan
        keys = tuple(key.path for key in plan.partition_key if not key.nullable)
        names = {key.path: name for key, name in zip(plan.partition_key, self.preparation.partition_key, strict=True)}
        has_type = self.type is not None
        flags = [
            Flag(variable.type if has_type else None, condition)
            for variable, condition in zip(plan.variables, self.preparation.readable, strict=True)
        ]
        return Needs(
            time=self.time,
            type=self.type,
            read=tuple(sorted({*read_columns(plan, self.time, self.type), *self.order_by})),
            named_types=_named_types(plan),
            known=keys,
            columns=self.preparation.columns,
            flags=tuple(flags),
            words=tuple(f"{LETTERS}{word}" for word in range(-(-len(flags) // 64))),
            only_flagged=not plan.needs_every_event,
            together=tuple((names[path],) for path in plan.meeting_keys),
            merged=tuple((names[path],) for path in plan.grouping_keys),
            rule=_name_rule(plan, self.certainty),
        )

    @property
    def tie_keys(self) -> TieKeys | None:
        if not any(template.transitions for template in self.plan.templates):
            return None
        keys = [(name,) for name in self.preparation.partition_key]
        known = (path for path, key in zip(keys, self.plan.partition_key, strict=True) if not key.nullable)
        return TieKeys((*keys, *((name,) for name in self.preparation.ties)), tuple(known))

    def prepare(self, events: pa.Table) -> tuple[pa.Table, Dropped]:
        rows, dropped = super().prepare(events)
        self._check_limits(rows)
        return rows, dropped

    def adopt(self, rows: pa.Table) -> pa.Table:
        rows = super().adopt(rows)
        self._check_limits(rows)
        return rows

    def _check_limits(self, rows: pa.Table) -> None:
        _check_template(self.plan, rows.num_rows, self.limits)
        self._check_rows(rows)

    def _check_rows(self, rows: pa.Table) -> None:
        """Refuse a query whose windows alone make more rows than a result may have.

        Raises:
            ExecutionError: TW481.
        """
        window, kind, limits = self.plan.window, self.time_type, self.limits
        if not isinstance(window, SlidingWindow):
            return
        length, slide = (max(1, one // kind.step) for one in (window.length, window.slide))
        per_event = -(-length // slide)
        if per_event * rows.num_rows <= limits.max_rows:
            return
        # Events of a group share windows: there are no more than hold its first event or begin until its last.
        times = as_steps(rows.column(TIME), kind)
        grouped = {group.path for group in self.plan.groups}
        names = (*self.preparation.partition_key, *self.preparation.bound_keys)
        keys = zip((*self.plan.partition_key, *self.plan.bound_keys), names, strict=True)
        codes = key_codes([rows.column(name) for key, name in keys if key.path in grouped], times.size)
        order = np.lexsort((times, codes))
        times, codes = times[order], codes[order]
        first = find_starts(codes)
        last = np.append(first[1:], codes.size) - 1
        spanned = times[last] // slide - times[first] // slide - (times[first] % slide - length) // slide
        most = int(np.minimum(spanned.astype(np.float64), (last - first + 1) * float(per_event)).sum())
        if most > limits.max_rows:
            message = (
                f"each event lies in {per_event:,} windows of {duration_text(window.length)}, "
                f"so there could be {most:,} rows; max_rows is {limits.max_rows:,}"
            )
            hint = f"use a longer SLIDE than {duration_text(window.slide)}, group by less, or raise max_rows="
            raise ExecutionError([Problem("TW481", message, hint)])

    def cut(self, wanted: int | None = None) -> TimeCut | None:
        """A chunk owns the windows (or times) that begin in it."""
        chunks = choose_chunks(self.plan, wanted)
        if chunks is None:
            return None
        kind, window = self.time_type, self.plan.window
        if isinstance(window, SlidingWindow):
            check_steps(window, kind)
            return TimeCut(chunks.length // kind.step, 0, chunks.after // kind.step)
        before, after = -(-chunks.before // kind.step), -(-chunks.after // kind.step)
        return TimeCut(max(-(-chunks.length // kind.step), before, after), before, after)

    @cached_property
    def certainty(self) -> Certainty:
        return plan_certainty(self.plan)

    def closing(self) -> Closing | None:
        return Closing.of(self.plan.window, self.time_type, self.certainty.moment == "decided")

    @property
    def shown_keys(self) -> Mapping[Path, str]:
        """A chunk of time is told by its times."""
        names = zip(self.preparation.partition_key, self.plan.partition_key, strict=True)
        meeting = {name for name, *_ in self.needs.together}
        return {(name,): ".".join(key.path) for name, key in names if name in meeting}


def _name_rule(plan: Plan, certainty: Certainty) -> str | None:
    """Releases before waited longer with some trends, so that rows would be missing after their states."""
    window = plan.window
    if not isinstance(window, MovingWindow) or window.by == "time":
        return None
    if certainty.moment == "either":
        if plan.complete:
            return "each complete trend by its beginning, at its end where nothing can follow"
        return "each trend once, at its end unless that is a NOT"
    if plan.complete and window.by == "last" and not window.wide:
        return "each complete trend at its end"
    if certainty.goes_on and plan.selection is None and window.by == "first":
        return "each complete trend by its beginning"
    return "each trend once"


def check_steps(window: SlidingWindow, kind: TimeType) -> None:
    """Raise where a length of the window is not a whole number of steps of the time column."""
    steps_of(window.length, kind, "WITHIN")
    steps_of(window.slide, kind, "SLIDE")


def _named_types(plan: Plan) -> frozenset[str] | None:
    """None where events of every type are asked for."""
    named = [variable.type for variable in plan.variables if variable.type is not None]
    return frozenset(named) if len(named) == len(plan.variables) else None


def read_columns(plan: Plan, time: str, type_: str | None) -> tuple[str, ...]:
    """The columns of events that a plan reads."""
    needed = {path[0] for columns in plan.needed_columns for path in columns.paths}
    return tuple(sorted(needed | {time} | ({type_} if type_ is not None else set())))


def _check_template(plan: Plan, events: int, limits: Limits) -> None:
    """Refuse a template that is too large for so many events.

    An event may take every transition, and adds numbers whose digits grow with the states or with the events,
    whichever are fewer.

    Raises:
        ExecutionError: TW480.
    """
    for template in (plan.template, *(negated.template for negated in plan.negations)):
        states, transitions = len(template.states), len(template.transitions)
        work = transitions * events * min(states, events)
        if states * transitions > _SMALL_TEMPLATE and work > limits.max_work:
            fewer = "states" if states < events else "events"
            message = (
                f"the pattern has {states:,} states and {transitions:,} transitions, too many for {events:,} events: "
                f"transitions x events x {fewer} are {work:.1e}, and max_work is {limits.max_work:.1e}"
            )
            hint = "repeat less often ({n} writes a part n times), use fewer events, or raise max_work="
            raise ExecutionError([Problem("TW480", message, hint)])
