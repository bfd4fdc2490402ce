"""Many programs as one: rows are made once for all of them, and each unit computes its queries from these."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Self

import pyarrow as pa

from trendweave.errors import DataError, Problem
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.plan import Path, Plan
from trendweave.planning.situated_plan import SituatedPlan
from trendweave.programs.preparing import prepare_rows
from trendweave.programs.program import (
    EVERYTHING,
    FAMILY,
    FIRST,
    LAST,
    Carry,
    Needs,
    Output,
    PartialResults,
    Program,
    Scope,
    Steps,
    TimeCut,
    describe_key,
)
from trendweave.programs.shared.alike import bind_alike
from trendweave.programs.shared.changes import (
    Record,
    Roster,
    carry_key,
    keep_carries,
    rewrite_rows,
)
from trendweave.programs.shared.merged import bind_merged
from trendweave.programs.shared.results import (
    SCHEMA,
    SLOT,
    Beginning,
    NamedRows,
    RowFilter,
    SharedParts,
    find_beginning,
)
from trendweave.programs.shared.rows import MeetBy, RowsPlan, SharedRows, plan_rows, unite_needs
from trendweave.programs.shared.steps import AtTheEnd, SharedSteps
from trendweave.programs.shared.unit import AloneUnit, Given, SharingMetrics, Unit, telling_query
from trendweave.progress import follow
from trendweave.results.types import ResultColumn
from trendweave.results.united_columns import Notes, unite_columns
from trendweave.rows.dropped import Dropped
from trendweave.rows.encoded import TIME, adopt_rows
from trendweave.rows.times import as_steps, time_type
from trendweave.sharing.constants import Alike
from trendweave.sharing.units import Alone, SharingPlan, different_members, folds_alone, keep_apart, plan_sharing
from trendweave.sharing.units import Unit as SharingUnit

#: Chunks of time of several queries are cut together while they get no longer than so many times the longest.
_LONGER = 4


@dataclass(frozen=True)
class Pass:
    """One computation of a unit. Most units have one. Where some queries came later, whose rows do not tell whether
    they began before, or that carry something, there is one for each time at which such queries came.

    Attributes:
        unit: The number of the unit.
        since: Events before are not seen; None: all are.
        row_filter: Says which rows are left out, see `RowFilter`; None: none are.
    """

    unit: int
    since: int | None
    row_filter: str | None

    @property
    def first(self) -> int:
        """The first time that is seen."""
        return FIRST if self.since is None else self.since


@dataclass(frozen=True)
class Shared(Program):
    """The queries of a workload as one program.

    Attributes:
        roster: The queries by name, and when they came. Those of one text are one member.
        units: How members are computed; each is in one.
        rows: What rows hold, and how units see them.
        plan: The plans of members, and how they share.
        sharing: "auto", "always" or "never".
        whole: Whether rows hold all columns of events that are read.
        folds: Whether events of units of one query may be forgotten on streams.
        ordered: Whether columns order events of one time: then each query is computed alone, and nothing is forgotten.
        notes: Columns of what rules have besides their queries.
        renamed: Under which keys stands now what was carried under others.
        metrics: What was shared while this object computed.
    """

    roster: Roster
    units: tuple[Unit, ...]
    rows: RowsPlan
    plan: SharingPlan
    sharing: str = "auto"
    whole: bool = False
    folds: bool = True
    ordered: bool = False
    notes: Notes = field(default_factory=dict)
    renamed: tuple[tuple[str, str], ...] = ()
    metrics: SharingMetrics = field(default_factory=SharingMetrics, compare=False)

    @property
    def names(self) -> tuple[tuple[str, ...], ...]:
        """The names of queries; those of one member have the same text."""
        return self.roster.groups

    @cached_property
    def programs(self) -> tuple[Program, ...]:
        """A program per member."""
        return tuple(self.roster.programs[names[0]] for names in self.names)

    @cached_property
    def text(self) -> str:
        return "\n".join(
            f"{', '.join(names)}: {one.text}" for names, one in zip(self.names, self.programs, strict=True)
        )

    @cached_property
    def events(self) -> pa.Schema:
        return self.programs[0].events

    @cached_property
    def needs(self) -> Needs:
        return unite_needs(self.rows, [unit.source for unit in self.units])

    @cached_property
    def result(self) -> tuple[ResultColumn, ...]:
        asked = (member for unit in self.plan.units for member in different_members(unit))
        named = ((name, self.programs[one].result) for one in sorted(asked) for name in self.names[one])
        return unite_columns(named, self.notes)

    @cached_property
    def named(self) -> NamedRows:
        return NamedRows(self.result, self.names, self.notes)

    @cached_property
    def schema(self) -> pa.Schema:
        return self.named.schema

    @property
    def moment(self) -> pa.DataType:
        return self.programs[0].moment

    @property
    def facts(self) -> tuple[str, ...]:
        named = zip(self.names, self.programs, strict=True)
        return ("workload", *(fact for names, one in named for fact in (*names, *one.facts)))

    # Rows

    def prepare(self, events: pa.Table) -> tuple[pa.Table, Dropped]:
        return prepare_rows(self.needs, events)

    def adopt(self, rows: pa.Table) -> pa.Table:
        """Spark hands timestamps over in the session's zone, and flags may be kept in few bits."""
        return adopt_rows(rows, self.moment, self.rows.words)

    def share(self, rows: pa.Table) -> SharedRows:
        """Rows as units see them."""
        self.count_what_is_planned()
        return SharedRows(rows, self.rows)

    def count_what_is_planned(self) -> None:
        self.metrics.expressions_saved = self.rows.saved + sum(unit.saved for unit in self.units)
        self.metrics.queries = sum(len(unit.members) for unit in self.units if len(unit.members) > 1)

    @property
    def workload(self) -> Shared:
        return self

    @property
    def plans(self) -> Sequence[Plan | IntervalPlan | SituatedPlan]:
        return [self.plan.plans[unit.members[0]] for unit in self.plan.units]

    def why_whole(self) -> str | None:
        plans = self.plan.plans
        if any(not isinstance(plan, IntervalPlan) and getattr(plan, "order_by", ()) for plan in plans):
            return "rows are ordered together (ORDER BY)"
        if any(not isinstance(plan, Plan) or plan.finds_trends for plan in plans):
            return "of workloads, those of aggregates alone are dealt out"
        if not self.needs.own_keys and self.cut() is None:
            return "queries have no keys in common, and time is not cut"
        return None

    def for_part(self, parts: int) -> Self:
        return replace(self, metrics=SharingMetrics())

    def add_counts(self, part: Program) -> None:
        if part.metrics is not None:
            self.metrics.add(part.metrics)

    # All at once, and in parts

    def compute(self, rows: pa.Table, scope: Scope = EVERYTHING) -> Output:
        return Output(self._compute(self.share(rows), scope))

    def _compute(self, rows: SharedRows, scope: Scope, in_parts: bool = False) -> Iterator[pa.RecordBatch]:
        for one in follow(self.passes, len(self.passes)):
            seen = rows
            if one.since is not None:
                seen = rows.between(one.since, LAST, as_steps(rows.table.column(TIME), time_type(self.moment)))
            with self.telling(one.unit):
                view = self.view(one.unit, seen)
            yield from self.write(one, self.units[one.unit].compute(view, scope, self.metrics, in_parts), in_parts)

    def view(self, number: int, rows: SharedRows) -> pa.Table:
        """The rows as a unit sees them."""
        return self.units[number].source.adopt(rows.view(number))

    def write(self, one: Pass, given: Iterable[Given], in_parts: bool = False) -> Iterator[pa.RecordBatch]:
        """Result rows that a pass gives, with the names of their queries; or parts of them, of which rows are left out
        when they are merged."""
        with self.telling(one.unit):
            if in_parts:
                yield from self.parts.write(one.unit, given, one.row_filter).to_batches()
            else:
                yield from self.write_rows(given, one.row_filter)

    def write_rows(self, given: Iterable[Given], row_filter: str | None = None) -> Iterator[pa.RecordBatch]:
        """Result rows with the names of their queries, without those that a filter leaves out."""
        batches = (batch for found in given for batch in self.named.write(found))
        return batches if row_filter is None else RowFilter.read(self.find_begin, row_filter).keep(batches)

    def telling(self, number: int) -> AbstractContextManager[None]:
        """Errors of a unit say of which query they are."""
        return telling_query(self.units[number].members, self.names)

    def partials(self) -> PartialResults | None:
        if all(merger is None for unit in self.units for merger in unit.mergers()):
            return None

        def compute(rows: pa.Table, scope: Scope) -> pa.Table:
            return pa.Table.from_batches(self._compute(self.share(rows), scope, in_parts=True), SCHEMA)

        return PartialResults(SCHEMA, (SLOT,), compute, self.parts.merge)

    @cached_property
    def parts(self) -> SharedParts:
        return SharedParts(self)

    def cut(self, wanted: int | None = None) -> TimeCut | None:
        """Chunks that suit all queries: a whole number of the chunks of each."""
        cuts = [program.cut(wanted) for program in self.programs]
        known = [cut for cut in cuts if cut is not None]
        if len(known) < len(cuts) or any(cut.last_step for cut in known):
            return None
        length = math.lcm(*(cut.length for cut in known))
        before, after = max(cut.before for cut in known), max(cut.after for cut in known)
        if (before and after) or length > _LONGER * max(cut.length for cut in known):
            return None
        return TimeCut(length, before, after)

    # Piece by piece

    def steps(self, in_parts: bool = False, early: bool = False) -> SharedSteps | None:
        of_units = []
        for number, unit in enumerate(self.units):
            with self.telling(number):
                of_units.append(self._make_steps(unit, in_parts, early))
        if all(steps is None for steps in of_units):
            return None
        found = (of_units[one.unit] for one in self.passes)
        return SharedSteps(self, tuple(AtTheEnd() if steps is None else steps for steps in found), in_parts)

    def _make_steps(self, unit: Unit, in_parts: bool = False, early: bool = False) -> Steps | None:
        """The steps of a unit; rows are not folded where they are needed otherwise."""
        return unit.steps(in_parts, early or not self.folds, self.metrics)

    @property
    def never_closing(self) -> tuple[str | None, ...]:
        return tuple(name for unit in self.units if self._make_steps(unit) is None for name in self._names_of(unit))

    def on_streams(self, early: bool) -> Shared:
        """The same, lasting, with rows that meet by keys of their own queries: wherever they are, a change of other
        queries finds them there. Rows that come out early are not merged, so all keys of a group are in one place."""
        # Units are planned before it is known whose events were forgotten, so none are.
        meet_by: MeetBy = "keys of results" if early else "own keys"
        return replace(self._bind_again(self.roster, (), meet_by), folds=False)

    # Queries that come and go

    def find_begin(self, name: str, since: int) -> Beginning | None:
        """From which rows on those of a query count that came at a time; None where it must not see earlier events."""
        return find_beginning(self.plan.plans[self._member_of[name]], time_type(self.moment), since)

    @cached_property
    def _member_of(self) -> Mapping[str, int]:
        return {name: number for number, names in enumerate(self.names) for name in names}

    def _names_of(self, unit: Unit) -> list[str]:
        """The names of the queries of a unit."""
        return [name for member in unit.members for name in self.names[member]]

    @cached_property
    def passes(self) -> tuple[Pass, ...]:
        """How units are computed, by unit."""
        return tuple(one for number in range(len(self.units)) for one in self._plan_passes(number))

    @cached_property
    def carry_keys(self) -> tuple[str, ...]:
        """Names what each pass carries: it does not change when other queries come and go."""
        return tuple(carry_key(self.programs[self.units[one.unit].members[0]], one.since) for one in self.passes)

    def _plan_passes(self, number: int) -> Iterator[Pass]:
        unit, since = self.units[number], self.roster.since
        names = self._names_of(unit)
        later = {name: since[name] for name in names if name in since}
        if not later:
            yield Pass(number, None, None)
            return
        told = {name: came for name, came in later.items() if self.find_begin(name, came) is not None}
        steps = self._make_steps(unit)
        # Of others rows tell whether they began before.
        blind = later if steps is not None and steps.carries else {one: later[one] for one in later if one not in told}
        groups: dict[int | None, list[str]] = {}
        for name in names:
            groups.setdefault(blind.get(name), []).append(name)
        for came, group in groups.items():
            own = {name: told[name] for name in group if name in told}
            only = group if len(groups) > 1 else None
            row_filter = RowFilter.write(only, own) if own or only else None
            yield Pass(number, came, row_filter)

    @cached_property
    def record(self) -> str:
        return self._known_roster().record(self._families()).write()

    def _known_roster(self) -> Roster:
        """With the queries whose events are forgotten."""
        units = self.plan.units if self.folds else ()
        alone = [unit.members[0] for unit in units if folds_alone(unit, self.plan.plans)]
        return replace(self.roster, folded=frozenset(name for one in alone for name in self.names[one]))

    def lasting(self) -> Shared:
        return self if self.whole else self._bind_again(self.roster, self._families())

    def after_change(self, record: str, came: int | None) -> Shared:
        before = Record.read(record)
        return self._bind_again(self.roster.after(before, came), before.families)

    def coming(self, since: Mapping[str, int]) -> Shared:
        """The same, where queries came at other times."""
        return replace(self, roster=replace(self.roster, since=since))

    def settle(self, watermark: int) -> Mapping[str, int]:
        """When queries came, without those of which nothing is open any more that began before. What carries something
        stays apart: it was carried since it came. Where only events are forgotten, what is carried is what is carried
        for a query that was always there, once all windows are closed that began before."""
        left = dict(self.roster.since)
        for unit in self.units if left else ():
            later = [name for name in self._names_of(unit) if name in left]
            steps = self._make_steps(unit, early=True) if later else None
            if steps is None or steps.carries:
                continue
            first = steps.keeps_from(watermark)
            left = {name: came for name, came in left.items() if name not in later or came >= first}
        return left

    def settled(self, watermark: int) -> Shared:
        left = self.settle(watermark)
        if len(left) == len(self.roster.since):
            return self
        gone = [(self.roster.programs[name], came) for name, came in self.roster.since.items() if name not in left]
        renamed = tuple((carry_key(program, came), carry_key(program, None)) for program, came in gone)
        return replace(self, roster=replace(self._known_roster(), since=left), renamed=renamed)

    def rewrite(self, rows: pa.Table) -> pa.Table:
        return rewrite_rows(rows, self.needs, self.events)

    def still_carried(self, carry: Carry) -> Carry:
        return keep_carries(carry, self.carry_keys, self.renamed)

    def _families(self) -> tuple[frozenset[Path], ...]:
        return tuple(frozenset(family.keys) for family in self.rows.families)

    def _bind_again(
        self, roster: Roster, families: Sequence[frozenset[Path]], meet_by: MeetBy = "common keys"
    ) -> Shared:
        plans = {plan.text: plan for plan in self.plan.plans}
        texts = [roster.programs[names[0]].text for names in roster.groups]
        folded = [number for number, names in enumerate(roster.groups) if roster.folded.intersection(names)]
        plan = plan_sharing([plans[text] for text in texts], True, folded)
        plan = keep_apart(plan) if self.ordered else plan
        units = _bind_units(roster, plan, self.sharing)
        rows = plan_rows([unit.source for unit in units], True, families, meet_by)
        return replace(self, roster=roster, units=units, rows=rows, plan=plan, whole=True)

    def problems_of_early_rows(self) -> list[Problem]:
        problems = []
        for names, program in zip(self.names, self.programs, strict=True):
            for problem in program.problems_of_early_rows():
                problems.append(replace(problem, query=names[0]))
        return problems

    def describe_key(self, rows: pa.Table, row: int) -> str:
        if len(self.rows.families) > 1:
            mark = rows.column(FAMILY)[row].as_py()
            keys = next(family.keys for family in self.rows.families if family.mark == mark)
        else:
            keys = self.needs.together
        expressions = dict(self.rows.columns)
        names = {path: (*getattr(expressions[path[0]], "names", ("key",)), *path[1:]) for path in keys}
        return describe_key(rows, row, {path: ".".join(named) for path, named in names.items()})


def bind_shared(
    programs: Mapping[str, Program],
    plan: SharingPlan,
    sharing: str = "auto",
    metrics: SharingMetrics | None = None,
    ordered: bool = False,
    notes: Notes = MappingProxyType({}),
) -> Shared:
    """The program of a workload.

    Args:
        programs: A program per name of a query; those of one text may be one object.
        plan: How members are computed together. Members are the different texts, in the order of their first names.
        sharing: "auto", "always" or "never".
        metrics: Counts what is shared.
        ordered: Whether columns order events of one time.
        notes: Columns of what rules have besides their queries.

    Raises:
        DataError: Columns of results do not fit together, or some queries read intervals and some events.
    """
    roster = Roster(programs)
    _check_times(roster, plan)
    plan = keep_apart(plan) if ordered else plan
    units = _bind_units(roster, plan, sharing)
    rows = plan_rows([unit.source for unit in units])
    return Shared(
        *(roster, units, rows, plan, sharing),
        folds=not ordered,
        ordered=ordered,
        notes=dict(notes),
        metrics=metrics or SharingMetrics(),
    )


def _bind_units(roster: Roster, plan: SharingPlan, sharing: str) -> tuple[Unit, ...]:
    members = [roster.programs[names[0]] for names in roster.groups]
    return tuple(_bind_unit(one, members, sharing) for one in plan.units)


def _bind_unit(unit: SharingUnit, programs: Sequence[Program], sharing: str) -> Unit:
    """What computes a unit of the sharing plan."""
    match unit:
        case Alone(member=member):
            return AloneUnit(member, programs[member])
        case Alike(members=members):
            return bind_alike(unit, programs[members[0]])
    return bind_merged(unit, programs, sharing)


def _check_times(roster: Roster, plan: SharingPlan) -> None:
    asked = [roster.groups[member][0] for unit in plan.units for member in different_members(unit)]
    without = [name for name in asked if roster.programs[name].needs.time is None]
    if without and len(without) < len(asked):
        message = (
            "rows of a query FROM INTERVALS have no single time, so it cannot be in a workload with queries over events"
        )
        hint = "put the queries FROM INTERVALS into a separate workload"
        raise DataError([Problem("TW271", message, hint, query=without[0])])
