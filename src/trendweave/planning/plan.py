"""The plan: frozen, hashable, picklable data. Runners and kernels read it; nothing in it knows where the data lives.

Expressions in a plan are *row expressions*: an `Attribute` in them is the path of a column of the row at hand. Only
general edge predicates look at two rows; there `NextAttribute` is a column of the later one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal, TypeAlias

from trendweave.language.syntax_tree import (
    AfterMatchKind,
    Aggregate,
    ChoiceKind,
    ComparisonOperator,
    Expression,
    ReturnKind,
)

Path: TypeAlias = tuple[str, ...]


# The template


@dataclass(frozen=True, slots=True, order=True)
class Guard:
    """Which negated patterns a gap must be clean of.

    `alternatives` are sets of negation numbers, sorted: the gap is open iff all negations of one alternative are
    clean in it. The guard that is always open has one empty alternative.
    """

    alternatives: tuple[tuple[int, ...], ...] = ((),)

    @property
    def always_open(self) -> bool:
        return () in self.alternatives


OPEN = Guard()
NEVER = Guard(())


@dataclass(frozen=True, slots=True)
class State:
    """A place in the template: the trend's last event was read as `variable`."""

    number: int
    variable: str
    type: str | None


@dataclass(frozen=True, slots=True)
class Start:
    """A trend may begin in this state; the guard is a leading NOT, its gap begins with the window. `closed` must not be
    open there; it is used only where each window is looked at by itself."""

    state: int
    guard: Guard = OPEN
    closed: Guard = NEVER


@dataclass(frozen=True, slots=True)
class End:
    """A trend may end in this state; the guard is a trailing NOT, its gap ends with the window."""

    state: int
    guard: Guard = OPEN


class Way(Enum):
    """How the sum over an event's predecessors is found (cheapest first)."""

    RUNNING_SUMS = "running sums"
    QUEUED_SUMS = "queued sums"
    SUMS_PER_VALUE = "sums per value"
    SUMS_OVER_RANKS = "sums over ranks"
    RANKS_PER_VALUE = "ranks per value"
    NEIGHBOURS = "scan of neighbours"
    SCAN = "scan"

    @property
    def cost(self) -> str:
        """Cost per event; n is the number of events in a window, k that of events at one time."""
        return {
            Way.SUMS_OVER_RANKS: "O(log n)",
            Way.RANKS_PER_VALUE: "O(log n)",
            Way.NEIGHBOURS: "O(k)",
            Way.SCAN: "O(n)",
        }.get(self, "O(1)")


@dataclass(frozen=True, slots=True)
class Summing:
    """How the sum over predecessors is found along a transition, and in a few words why.

    `way` serves counts and sums of whole numbers, `inexact` what cannot leave a sum again: floats, MIN and MAX, and
    the starts of matches.
    """

    way: Way
    inexact: Way
    reason: str


@dataclass(frozen=True, slots=True)
class Transition:
    """A step from one state to another; how it is summed is decided once all predicates are known.

    The gap must be clean as `guard` says, and not as `closed` says: it keeps readings apart that differ in their NOTs.
    """

    source: int
    target: int
    guard: Guard = OPEN
    summing: Summing = Summing(Way.RUNNING_SUMS, Way.RUNNING_SUMS, "no edge predicate")
    closed: Guard = NEVER


@dataclass(frozen=True, slots=True)
class Template:
    """An automaton over variables that reads each trend on one path. From one state a variable leads to several only
    where readings differ in their NOTs. A state that nothing leaves and in which no trend ends is there for
    skip-till-next-match: what is read as its variable could follow, and so is not skipped."""

    states: tuple[State, ...]
    starts: tuple[Start, ...]
    transitions: tuple[Transition, ...]
    ends: tuple[End, ...]

    def accepts(self, word: tuple[str, ...]) -> bool:
        """Does the word of variables spell a trend? Guards play no part."""
        if not word:
            return False
        reached = [start.state for start in self.starts if self.states[start.state].variable == word[0]]
        for variable in word[1:]:
            reached = [
                step.target
                for step in self.transitions
                if step.source in reached and self.states[step.target].variable == variable
            ]
        return any(end.state in reached for end in self.ends)

    def neighbours(self) -> frozenset[tuple[str, str]]:
        """Pairs of variables of which the second may directly follow the first."""
        variable = [state.variable for state in self.states]
        return frozenset((variable[step.source], variable[step.target]) for step in self.transitions)


@dataclass(frozen=True, slots=True)
class NegatedPattern:
    """A pattern under NOT, with a template of its own; guards name it by number."""

    number: int
    text: str
    template: Template


# Predicates


@dataclass(frozen=True, slots=True)
class VariablePlan:
    """How events are read as a variable: their type (None: any), and the conditions they must meet on their own."""

    name: str
    type: str | None
    negated: bool
    local: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class EdgeComparison:
    """`previous op next`: one row expression of the earlier event against one of the later event."""

    previous: Expression
    operator: ComparisonOperator
    next: Expression


class Kernel(Enum):
    """The loop that goes over the events, and the one that takes its place where the events ask for it."""

    FOLD = "fold: one pass, a number per state; propagate where numbers pass 55 bits"
    APPLY = (
        "apply: each event is folded once, whatever the overlap of windows, which are matrices one after the other; "
        "propagate where numbers pass 55 bits"
    )
    NEIGHBOURS = (
        "neighbours: each event looks at the one before it; "
        "propagate where events of a partition share a time, or numbers pass 53 bits"
    )
    FOLD_BY_VALUE = (
        "fold_by_value: a number per state and anchor value, one window after the other; "
        "propagate, with events copied per value, where numbers pass 61 bits or floats are summed"
    )
    PROPAGATE = "propagate: predecessors are found per transition; windows side by side share the search"


@dataclass(frozen=True, slots=True)
class EdgePlan:
    """What must hold when an event read as `later` directly follows one read as `earlier`."""

    earlier: str
    later: str
    comparisons: tuple[EdgeComparison, ...]
    general: tuple[Expression, ...]


AnchorKind: TypeAlias = Literal["last", "first", "previous"]


@dataclass(frozen=True, slots=True, order=True)
class Anchor:
    """An earlier event of the trend: the latest or the first one read as the variable, or the one directly before."""

    kind: AnchorKind
    variable: str


@dataclass(frozen=True, slots=True)
class AnchorPlan:
    """What must hold for each event read as `variable` before which the trend has all of the anchors.

    With one anchor, `comparisons` compare one row expression of it with one of the event. In `general`, a
    `NextAttribute` is a column of the event, and an `Attribute` begins with the number of its anchor. `text` is the
    condition as the query has it.
    """

    variable: str
    anchors: tuple[Anchor, ...]
    comparisons: tuple[EdgeComparison, ...]
    general: tuple[Expression, ...]
    text: str


# Windows and keys


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """`[i * slide, i * slide + length)`, in nanoseconds from the Unix epoch."""

    length: int
    slide: int


@dataclass(frozen=True, slots=True)
class MovingWindow:
    """`(t - length, t]` for each time t at which a trend ends, in nanoseconds.

    Lists show each trend once, in a window of its own: `by` says what a window stands at. "time": a time, with all
    trends in the window (aggregates); "last": the last event of its trends; "first": their first event, and the window
    is `[t, t + length)`. With `wide`, trends of other windows up to `length` away matter, too.
    Of trends that matter only those are shown that end with one of the variables `ends`, if there are any.
    """

    length: int
    by: Literal["time", "last", "first"] = "time"
    wide: bool = False
    ends: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WholeInput:
    """One window over all events."""


@dataclass(frozen=True, slots=True)
class SessionWindow:
    """A longest run of events of a partition, of any type, with less than `gap` nanoseconds between neighbours."""

    gap: int


Window: TypeAlias = SlidingWindow | MovingWindow | SessionWindow | WholeInput


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column that events of a trend have in common.

    Without a variable it binds all events, negated ones included, and splits the input into partitions; with one it
    binds only events read as that variable. A nullable key treats NULL as a value of its own (grouping); others leave
    out events with NULL (equivalence).
    """

    path: Path
    variable: str | None
    nullable: bool


# Results


@dataclass(frozen=True, slots=True)
class GroupColumn:
    """A grouping attribute in the result. `apart`: rows of its values are neither ordered nor limited together."""

    name: str
    path: Path
    variable: str | None
    apart: bool = False


@dataclass(frozen=True, slots=True)
class AggregateColumn:
    """`COUNT(*)` has neither variable nor path, `COUNT(S)` has no path. `LENGTH` and aggregates of it have neither.
    `distinct`: different values are counted. `parameter`: the share of PERCENTILE, the number of NTH."""

    name: str
    function: str
    variable: str | None = None
    path: Path | None = None
    distinct: bool = False
    parameter: int | float | None = None

    @staticmethod
    def of(name: str, value: Aggregate) -> AggregateColumn:
        """Settle the column of an aggregate. The first and last event, and the median, are what they are however they
        are written."""
        names = value.argument.names if value.argument is not None else ()
        function, parameter = value.function, value.parameter
        if function == "NTH" and parameter in (1, -1):
            function, parameter = "FIRST" if parameter == 1 else "LAST", None
        if function == "MEDIAN":
            function, parameter = "PERCENTILE", 0.5
        return AggregateColumn(
            name, function, names[0] if names else None, names[1:] or None, value.distinct, parameter
        )

    @property
    def is_spread(self) -> bool:
        """Is it about how far values lie apart?"""
        return self.function in ("STDDEV", "VARIANCE")

    @property
    def needs_all_values(self) -> bool:
        """Does it look at all values of a trend together, so that they cannot be folded one by one?"""
        return self.distinct or self.is_spread or self.function in ("COLLECT_LIST", "COLLECT_SET", "PERCENTILE", "NTH")

    @property
    def is_length(self) -> bool:
        """Is it about the number of events of trends?"""
        return self.variable is None and self.function != "COUNT"


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column that is computed of others: in `value`, attributes are groups and aggregates of the plan by name."""

    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class OrderColumn:
    """What rows of a window are ordered by; attributes are as in an output."""

    value: Expression
    descending: bool


@dataclass(frozen=True, slots=True)
class ShownAttribute:
    """An attribute of the events of a trend that is shown; None stands for all variables."""

    name: str
    path: Path
    variables: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Choice:
    """So many trends per window and group: the first ones found, the longest ones, or a sample drawn at random."""

    kind: ChoiceKind
    count: int
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Selection:
    """Trends are taken in order of their first event; of those that begin together the one that ends last, or first
    where `shortest`. A taken trend takes its own beginning away, and those that `skip` names, before events of
    `variable`."""

    skip: AfterMatchKind = "next"
    variable: str | None = None
    shortest: bool = False


@dataclass(frozen=True, slots=True)
class TypeColumns:
    """The columns that events of a type (None: of every type) must carry."""

    type: str | None
    paths: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a trend query: everything that a host needs to know about it, apart from the data.

    `templates` holds one template; a conjunction has three: both sides, and what both match (GRETA, Section 9).
    `complete`: only trends that are not part of a longer one. `match_conditions` apply to a whole trend; aggregates in
    them are those of this trend.
    `outputs` replace the aggregates in the result if they are not simply the aggregates in their order; some aggregates
    may then only serve outputs, HAVING or ORDER BY. `limit`: the number of rows in this order, per window of
    aggregates, and per window and group of lists.
    """

    text: str
    returns: ReturnKind
    strategy: str
    window: Window
    variables: tuple[VariablePlan, ...]
    templates: tuple[Template, ...]
    negations: tuple[NegatedPattern, ...]
    edges: tuple[EdgePlan, ...]
    partition_key: tuple[KeyColumn, ...]
    bound_keys: tuple[KeyColumn, ...]
    groups: tuple[GroupColumn, ...]
    aggregates: tuple[AggregateColumn, ...]
    needed_columns: tuple[TypeColumns, ...]
    shown: tuple[ShownAttribute, ...] = ()
    choice: Choice | None = None
    complete: bool = False
    match_conditions: tuple[Expression, ...] = ()
    selection: Selection | None = None
    outputs: tuple[OutputColumn, ...] | None = None
    having: tuple[Expression, ...] = ()
    order_by: tuple[OrderColumn, ...] = ()
    limit: int | None = None
    anchors: tuple[AnchorPlan, ...] = ()

    @property
    def shown_values(self) -> tuple[str, ...]:
        """The names of the value columns: aggregates, or outputs computed from them, in order."""
        return tuple(column.name for column in (self.aggregates if self.outputs is None else self.outputs))

    @property
    def template(self) -> Template:
        return self.templates[0]

    @property
    def grouping_keys(self) -> tuple[Path, ...]:
        """Partition keys that rows of the result are grouped by."""
        grouped = {group.path for group in self.groups if group.variable is None}
        return tuple(key.path for key in self.partition_key if key.path in grouped)

    @property
    def meeting_keys(self) -> tuple[Path, ...]:
        """Partition keys by which rows must meet in one place: all of them, or those of the group where windows depend
        on it or trends are chosen per group."""
        moving = isinstance(self.window, MovingWindow) and self.window.by == "time"
        chosen = self.choice is not None or (self.limit is not None and self.returns != "aggregates")
        if moving or (chosen and not isinstance(self.window, SessionWindow)):
            return self.grouping_keys
        return tuple(key.path for key in self.partition_key)

    @property
    def finds_trends(self) -> bool:
        """Are trends found one by one, whether they are listed or aggregated?"""
        return self.returns != "aggregates" or self.complete or self.selection is not None

    @property
    def is_conjunction(self) -> bool:
        return len(self.templates) > 1

    @property
    def reduced_graph_is_exact(self) -> bool:
        """Are the paths of the reduced graph exactly the complete trends?

        They are if an event bound to a variable is one vertex. If a variable has several states, keys of its own, or
        a vertex per anchor value, a longer trend may pass through other vertices of the same events.
        """
        variables = [state.variable for state in self.template.states]
        in_lanes = any(condition.variable in variables for condition in self.anchors)
        return not self.bound_keys and not in_lanes and len(set(variables)) == len(variables)

    @property
    def window_apart(self) -> bool:
        """Is each window computed separately? It is if a negated pattern begins or ends with NOT, because its matches
        then depend on the window, and if alternatives differ in their NOTs at the start and at the end."""
        negated = [negation.template for negation in self.negations]
        guards = [start.guard for template in negated for start in template.starts]
        guards += [end.guard for template in negated for end in template.ends]
        closed = any(start.closed != NEVER for template in self.templates for start in template.starts)
        return closed or any(not guard.always_open for guard in guards)

    @property
    def needs_every_event(self) -> bool:
        """Do events matter that no variable can be bound to? They come between two others, or extend a session."""
        return self.strategy == "contiguous" or isinstance(self.window, SessionWindow)

    @property
    def has_alike_edges(self) -> bool:
        """Do all trends begin with the same NOTs, and end with the same NOTs?"""
        starts, ends = self.template.starts, self.template.ends
        return len({start.guard for start in starts}) <= 1 and len({end.guard for end in ends}) <= 1

    def variable(self, name: str) -> VariablePlan:
        return next(variable for variable in self.variables if variable.name == name)

    def edge(self, earlier: str, later: str) -> EdgePlan:
        return next(edge for edge in self.edges if (edge.earlier, edge.later) == (earlier, later))

    def _repr_html_(self) -> str:
        from trendweave.planning.show.cards import make_plan_card

        return make_plan_card(self, "Plan").html()
