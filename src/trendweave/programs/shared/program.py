"""Many programs as one: rows are made once for all of them, and each unit computes its queries from these."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

import pyarrow as pa

from trendweave.errors import DataError, Problem
from trendweave.planning.plan import Path
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
    Work,
    describe_key,
)
from trendweave.programs.shared.alike import bind_alike
from trendweave.programs.shared.changes import (
    Record,
    Roster,
    carry_key,
    keep_carries,
    rename_carries,
    rewrite_rows,
)
from trendweave.programs.shared.columns import NamedRows
from trendweave.programs.shared.merged.unit import bind_merged
from trendweave.programs.shared.metrics import SharingMetrics
from trendweave.programs.shared.needs import unite_needs
from trendweave.programs.shared.partials import SCHEMA, SLOT, SharedParts
from trendweave.programs.shared.rows import MeetBy, RowsPlan, SharedRows, plan_rows
from trendweave.programs.shared.since import Beginning, RowFilter, find_beginning
from trendweave.programs.shared.steps import AtTheEnd, SharedSteps
from trendweave.programs.shared.unit import AloneUnit, Found, Given, Unit, telling_query
from trendweave.progress import follow
from trendweave.results.types import ResultColumn
from trendweave.results.united_columns import Notes, unite_columns
from trendweave.rows.dropped import Dropped
from trendweave.rows.encoded import TIME
from trendweave.rows.prepared import adopt_rows
from trendweave.rows.times import as_steps, time_type
from trendweave.sharing.constants import Alike
from trendweave.sharing.units import Alone, SharingPlan, different_members, folds_alone, keep_apart, plan_sharing
from trendweave.sharing.units import Unit as SharingUnit

#: Chunks of time of several queries are cut together while they get no longer than so many times the longest.
_LONGER = 4


@dataclass(frozen=True)
class Shared(Program):
    """The queries of a workload as one program.

    Attributes:
        names: The names of queries; those of one member have the same text.
        programs: A program per member.
        units: How members are computed; each is in one.
        rows: What rows hold, and how units see them.
        plan: The plans of members, and how they share.
        roster: The queries by name, and when they came. Members of one unit came at one time.
        sharing: "auto", "always" or "never".
        whole: Whether rows hold all columns of events that are read.
        folds: Whether events of units of one query may be forgotten on streams.
        ordered: Whether columns order events of one time: then each query is computed alone, and nothing is forgotten.
        notes: Columns of what rules have besides their queries.
        renamed: Under which keys stands now what was carried under others.
        metrics: What was shared while this object computed.
    """

    names: tuple[tuple[str, ...], ...]
    programs: tuple[Program, ...]
    units: tuple[Unit, ...]
    rows: RowsPlan
    plan: SharingPlan
    roster: Roster
    sharing: str = "auto"
    whole: bool = False
    folds: bool = True
    ordered: bool = False
    notes: Notes = field(default_factory=dict)
    renamed: tuple[tuple[str, str], ...] = ()
    metrics: SharingMetrics = field(default_factory=SharingMetrics, compare=False)

    @cached_property
    def text(self) -> str:
        return "\n".join(
            f"{', '.join(names)}: {one.text}" for names, one in zip(self.names, self.programs, strict=True)
        )

    @cached_property
    def events(self) -> pa.Schema:
        return self.programs[0].events

    @property
    def work(self) -> Work:
        return "shared"

    @cached_property
    def needs(self) -> Needs:
        return unite_needs(self.rows, [source for unit in self.units for source in unit.sources])

    @cached_property
    def result(self) -> tuple[ResultColumn, ...]:
        asked = (member for unit in self.plan.units for member in different_members(unit))
        named = ((name, self.programs[one].result) for one in sorted(asked) for name in self.names[one])
        return unite_columns(named, self.notes)

    @cached_property
    def named(self) -> NamedRows:
        begins = {name: self.find_begin(name, since) for name, since in self.roster.since.items()}
        known = {name: begin for name, begin in begins.items() if begin is not None}
        return NamedRows(self.result, self.names, known, self.notes)

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
        return SharedRows(rows, self.rows, self.metrics)

    def count_what_is_planned(self) -> None:
        """Count what is shared whatever rows come."""
        self.metrics.expressions_saved = self.rows.saved
        self.metrics.queries = sum(len(unit.members) for unit in self.units if len(unit.members) > 1)

    # All at once, and in parts

    def compute(self, rows: pa.Table, scope: Scope = EVERYTHING) -> Output:
        return Output(self._compute(self.share(rows), scope))

    def _compute(self, rows: SharedRows, scope: Scope) -> Iterator[pa.RecordBatch]:
        for number, unit in follow(enumerate(self.units), len(self.units)):
            yield from self.write_rows(number, unit.compute(self._seen_by(unit, rows), scope))

    def _seen_by(self, unit: Unit, rows: SharedRows) -> SharedRows:
        since = self.since[unit.members[0]]
        if since is None:
            return rows
        return rows.between(since, LAST, as_steps(rows.table.column(TIME), time_type(self.moment)))

    def write_rows(self, number: int, given: Iterable[Given]) -> Iterator[pa.RecordBatch]:
        """Result rows of a unit, with the names of their queries."""
        with self.telling(number):
            for found in given:
                assert isinstance(found, Found), "parts are written as parts"
                yield from self.named.write(found)

    def telling(self, number: int) -> AbstractContextManager[None]:
        """Errors of a unit say of which query they are."""
        return telling_query(self.units[number].members, self.names)

    def partials(self) -> PartialResults | None:
        if all(merger is None for unit in self.units for merger in unit.mergers()):
            return None
        return PartialResults(SCHEMA, (SLOT,), self.parts.compute, self.parts.merge)

    @cached_property
    def parts(self) -> SharedParts:
        return SharedParts(self.units, self.named, self.share, self.telling, self._keep)

    def _keep(self, row_filter: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return RowFilter.read(self.find_begin, row_filter).keep(batches)

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

    def steps(self, in_parts: bool = False, early: bool = False) -> Steps | None:
        made = []
        for number, unit in enumerate(self.units):
            with self.telling(number):
                made.append(self.make_steps(unit, in_parts, early))
        if all(steps is None for steps in made):
            return None
        kept = tuple(AtTheEnd() if steps is None else steps for steps in made)
        came = (self.since[unit.members[0]] for unit in self.units)
        since = tuple(FIRST if one is None else one for one in came)
        write = self.write_parts if in_parts else self.write_rows
        kind = time_type(self.moment)
        units = self.units, kept, in_parts
        return SharedSteps(*units, self.carry_keys, since, kind, self.share, write, self.telling)

    def make_steps(self, unit: Unit, in_parts: bool = False, early: bool = False) -> Steps | None:
        """The steps of a unit; rows are not folded where they are needed otherwise."""
        return unit.steps(in_parts, early or not self.folds)

    def write_parts(
        self, number: int, given: Iterable[Given], row_filter: str | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Parts of a unit as rows; a filter leaves out rows when they are merged."""
        with self.telling(number):
            yield from self.parts.write([(number, given)], row_filter).to_batches()

    @property
    def never_closing(self) -> tuple[str, ...]:
        """The names of queries with one window over the whole input: nothing of them is final before the end."""
        return tuple(
            name
            for unit in self.units
            if self.make_steps(unit) is None
            for one in unit.members
            for name in self.names[one]
        )

    def on_streams(self, early: bool) -> Shared:
        """The same, lasting, with rows that meet by keys of their own queries: wherever they are, a change of other
        queries finds them there. Rows that come out early are not merged, so all keys of a group are in one place."""
        lasting = self._bind_again(self.roster, ())
        sources = [source for unit in lasting.units for source in unit.sources]
        meet_by: MeetBy = "keys of results" if early else "own keys"
        # Units are planned before it is known whose events were forgotten, so none are.
        return replace(lasting, rows=plan_rows(sources, whole=True, meet_by=meet_by), folds=False)

    # Queries that come and go

    def find_begin(self, name: str, since: int) -> Beginning | None:
        """From which rows on those of a query count that came at a time; None where it must not see earlier events."""
        return find_beginning(self.plan.plans[self._member_of[name]], time_type(self.moment), since)

    @cached_property
    def _member_of(self) -> Mapping[str, int]:
        return {name: number for number, names in enumerate(self.names) for name in names}

    @cached_property
    def carry_keys(self) -> tuple[str, ...]:
        """Under which what a unit carries stands; nothing is carried by units of several queries."""
        first = [unit.members[0] for unit in self.units]
        return tuple(carry_key(self.programs[one], self.since[one]) for one in first)

    @cached_property
    def since(self) -> tuple[int | None, ...]:
        """When each member came, in steps of the time column; None: it was there from the beginning."""
        return tuple(came for _, came in self.roster.groups)

    @cached_property
    def record(self) -> str:
        """The queries, and since when each is there; kept with every state. It tells another program how to go on."""
        return self._known_roster().record(self._families()).write()

    def _known_roster(self) -> Roster:
        """With the queries whose events are forgotten."""
        units = self.plan.units if self.folds else ()
        alone = [one for unit in units if folds_alone(unit, self.plan.plans) for one in unit.members]
        return replace(self.roster, folded=frozenset(name for one in alone for name in self.names[one]))

    def lasting(self) -> Shared:
        """The same with rows that hold enough to be rewritten for other queries."""
        return self if self.whole else self._bind_again(self.roster, self._families())

    def going_on(self, record: str, came: int | None) -> Shared:
        """The same after a program with this record: queries that it had go on, others are there since `came`, in steps
        of the time column (None: nothing has come yet)."""
        before = Record.read(record)
        return self._bind_again(self.roster.after(before, came), before.families)

    def settled(self, watermark: int) -> Shared:
        """The same where nothing is open any more that began before some query came; often this very object.

        What carries something stays apart: it was carried since it came. Where only events are forgotten, what is
        carried is what is carried for a query that was always there, once all windows are closed that began before.
        """
        names: list[str] = []
        renamed: list[tuple[str, str]] = []
        for unit in self.units if self.roster.since else ():
            came = self.since[unit.members[0]]
            steps = None if came is None else self.make_steps(unit, early=True)
            if came is not None and steps is not None and not steps.carries and steps.keeps_from(watermark) > came:
                names += [name for one in unit.members for name in self.names[one]]
                program = self.programs[unit.members[0]]
                renamed.append((carry_key(program, came), carry_key(program, None)))
        if not names:
            return self
        return replace(self._bind_again(self._known_roster().settle(names), self._families()), renamed=tuple(renamed))

    def rewrite(self, rows: pa.Table) -> pa.Table:
        """Rows of a lasting program as rows of this one."""
        return rewrite_rows(rows, self.needs, self.events)

    def still_carried(self, carry: Carry) -> Carry:
        """Without what belonged to queries that are gone."""
        return keep_carries(rename_carries(carry, self.renamed), self.carry_keys)

    def _families(self) -> tuple[frozenset[Path], ...]:
        return tuple(frozenset(family.keys) for family in self.rows.families)

    def _bind_again(self, roster: Roster, families: Sequence[frozenset[Path]]) -> Shared:
        plans = {plan.text: plan for plan in self.plan.plans}
        texts = [roster.programs[names[0]].text for names, _ in roster.groups]
        folded = [number for number, (names, _) in enumerate(roster.groups) if roster.folded.intersection(names)]
        plan = plan_sharing([plans[text] for text in texts], [came for _, came in roster.groups], folded)
        return _bind(roster, plan, self.sharing, self.metrics, self.ordered, self.notes, (True, families))

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
    return _bind(roster, plan, sharing, metrics or SharingMetrics(), ordered, dict(notes))


def _bind(
    roster: Roster,
    plan: SharingPlan,
    sharing: str,
    metrics: SharingMetrics,
    ordered: bool,
    notes: Notes,
    lasting: tuple[bool, Sequence[frozenset[Path]]] = (False, ()),
) -> Shared:
    plan = keep_apart(plan) if ordered else plan
    names = tuple(names for names, _ in roster.groups)
    members = tuple(roster.programs[one[0]] for one in names)
    units: list[Unit] = []
    first = 0
    for one in plan.units:
        units.append(replace(_bind_unit(one, members, sharing), first=first))
        first += len(units[-1].sources)
    whole, families = lasting
    rows = plan_rows([source for unit in units for source in unit.sources], whole=whole, known=families)
    same = (names, members, tuple(units), rows, plan, roster, sharing, whole)
    return Shared(*same, folds=not ordered, ordered=ordered, notes=notes, metrics=metrics)


def _bind_unit(unit: SharingUnit, programs: Sequence[Program], sharing: str) -> Unit:
    """What computes a unit of the sharing plan."""
    match unit:
        case Alone(member=member):
            return AloneUnit(member, programs[member])
        case Alike(members=members):
            return bind_alike(unit, programs[members[0]])
    return bind_merged(unit, programs, sharing)


def _check_times(roster: Roster, plan: SharingPlan) -> None:
    asked = [roster.groups[member][0][0] for unit in plan.units for member in different_members(unit)]
    without = [name for name in asked if roster.programs[name].needs.time is None]
    if without and len(without) < len(asked):
        message = (
            "rows of a query FROM INTERVALS have no single time, so it cannot be in a workload with queries over events"
        )
        hint = "put the queries FROM INTERVALS into a separate workload"
        raise DataError([Problem("TW271", message, hint, query=without[0])])
