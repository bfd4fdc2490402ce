"""Hypothesis strategies: workloads of related queries, and streams of bursts and calm stretches to run them on.

All queries of a workload come from one by changing its start or end, its suffix, window, constants, aggregates,
strategy, keys and conditions, so that there is something to share and something that forbids it. Patterns are a shared
Kleene part with something before and after it. Attributes of the streams are those of `tests.reference.streams`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.reference.pattern import (
    Pattern,
    can_end_with_not,
    leaves,
    neighbours,
    variable_types,
)
from tests.reference.query import (
    ANY_MATCH,
    COUNT_ALL,
    STRATEGIES,
    Aggregate,
    Attribute,
    Calculated,
    Column,
    Constant,
    Edge,
    Local,
    Moving,
    Output,
    Query,
    Session,
    Sliding,
    output_text,
    text,
)
from tests.reference.streams import aggregates, queries
from tests.reference.trend_rows import shown_text

from .bursty_streams import bursty_streams
from .members import INTERVAL, Member
from .related_patterns import Parts, parts, rarely

# -------------------------------------------------------------------------------------------------------------- clauses


WINDOWS = (Sliding(10, 10), Sliding(10, 5), Sliding(12, 4), Sliding(6, 3), Sliding(6, 6), Sliding(8, 2), Sliding(5, 3))


@st.composite
def time_windows(draw: DrawFn, windowed: bool) -> Sliding | Moving | Session | None:
    kind = draw(st.sampled_from(["sliding"] * 5 + ["moving", "session"] + ["none"] * 2 * (not windowed)))
    if kind == "sliding":
        return draw(st.sampled_from(WINDOWS))
    if kind == "moving":
        return Moving(draw(st.sampled_from([8, 4, 10])))
    return Session(draw(st.sampled_from([2, 3, 6]))) if kind == "session" else None


def limits() -> SearchStrategy[Constant]:
    return st.sampled_from([-1, 0, 1, -2, 0.5, -1]).map(Constant)


@st.composite
def local_conditions(draw: DrawFn, pattern: Pattern) -> tuple[Local, ...]:
    """On variables of the trend or under a NOT, with constants that other queries have in other numbers."""
    variables = sorted({leaf.name for leaf, _ in leaves(pattern)})
    one = st.builds(
        Local,
        st.sampled_from(variables),
        st.sampled_from([Column("x"), Column("y")]),
        st.sampled_from([">=", "<=", "!=", ">=", ">", "!=", "="]),
        limits(),
    )
    return tuple(draw(st.lists(one, min_size=1, max_size=2)))


EDGES = ((Column("x"), Column("x", later=True)), (Column("y"), Column("x", later=True)))


@st.composite
def edge_conditions(draw: DrawFn, pattern: Pattern) -> tuple[Edge, ...]:
    """Between two events of one variable that can be neighbours."""
    again = sorted(one for one, other in neighbours(pattern) if one == other)
    if not again:
        return ()
    left, right = draw(st.sampled_from(EDGES))
    return (Edge(draw(st.sampled_from(again)), left, draw(st.sampled_from(["<=", ">=", "<", "!="])), right),)


def other_constants(draw: DrawFn, conditions: tuple[Local, ...]) -> tuple[Local, ...]:
    return tuple(replace(condition, right=draw(limits())) for condition in conditions)


def kept_conditions(conditions: tuple, pattern: Pattern) -> tuple:
    """Those that this pattern has the variables for."""
    variables = {leaf.name for leaf, _ in leaves(pattern)}
    return tuple(
        one
        for one in conditions
        if one.variable in variables
        and (not isinstance(one, Edge) or (one.variable, one.variable) in neighbours(pattern))
    )


def kept_outputs(outputs: tuple[Output, ...], pattern: Pattern) -> tuple[Output, ...]:
    variables = variable_types(pattern)
    return tuple(one for one in outputs if one.variable is None or one.variable in variables) or (COUNT_ALL,)


@st.composite
def keys(draw: DrawFn) -> tuple[tuple[Attribute, ...], tuple[Attribute, ...]]:
    """Equivalence and groups: keys that meet in one of them, or in none."""
    equivalence = draw(st.sampled_from([(), (), (), ("k",), ("k",), ("k", "g"), ("s",)]))
    groups = draw(st.sampled_from([(), (), (), ("k",), ("g",), ("k", "g")]))
    return tuple(map(Attribute, equivalence)), tuple(map(Attribute, groups))


# ------------------------------------------------------------------------------------------------------------ workloads


@dataclass(frozen=True)
class Related:
    """One query of a workload: its parts, and the query that they are part of."""

    parts: Parts
    query: Query


@dataclass(frozen=True)
class Variety:
    """Which clauses may differ between the queries of a workload."""

    parts: bool = True
    outputs: bool = True
    windows: bool = True
    negation: bool = True
    edges: bool = True
    locals: bool = True
    strategies: bool = True
    keys: bool = True
    kinds: bool = True  # lists, intervals, ORDER BY and others, not only aggregates
    others: bool = True  # queries that have only the pattern in common with the first
    edged: bool = False  # the first has a condition on neighbours wherever its pattern has room for one
    one_kind: bool = False  # lists beside lists of the same kind, or aggregates beside aggregates


KLEENE = Variety(edges=False, strategies=False, keys=False, kinds=False, others=False)
EDGED = Variety(windows=False, strategies=False, keys=False, kinds=False, others=False)
CONSTANTS = Variety(
    parts=False, outputs=False, windows=False, edges=False, strategies=False, keys=False, others=False, one_kind=True
)
EVERYTHING = Variety()


@st.composite
def first_conditions(draw: DrawFn, pattern: Pattern, variety: Variety) -> tuple[Local | Edge, ...]:
    single: tuple[Local, ...] = ()
    if variety.locals and (variety.one_kind or draw(st.booleans())):
        single = draw(local_conditions(pattern))
    if variety.edged or ((variety.edges or variety.one_kind) and not rarely(draw, 3)):
        return single + draw(edge_conditions(pattern))
    return single


@st.composite
def first_queries(draw: DrawFn, variety: Variety, windowed: bool) -> Related:
    drawn = draw(parts(negation=variety.negation))
    pattern = drawn.pattern()
    equivalence, groups = draw(keys())
    query = Query(
        pattern,
        aggregates=draw(aggregates(sorted(variable_types(pattern)))),
        predicates=draw(first_conditions(pattern, variety)),
        equivalence=equivalence,
        group_by=groups,
        window=draw(time_windows(windowed)),
        strategy=draw(st.sampled_from([ANY_MATCH] * 4 + list(STRATEGIES)))
        if variety.strategies or variety.one_kind
        else ANY_MATCH,
    )
    return Related(drawn, legal(query))


def legal(query: Query, lists: bool = False) -> Query:
    """Aggregates under `WITHIN w` alone have no trailing NOT."""
    if isinstance(query.window, Moving) and not lists and can_end_with_not(query.pattern):
        return replace(query, window=Sliding(query.window.within, query.window.within))
    return query


@st.composite
def derived_queries(draw: DrawFn, first: Related, variety: Variety, windowed: bool) -> Query:
    """The first one with some clauses changed."""
    base = first.query
    drawn = draw(parts(first.parts, variety.negation)) if variety.parts and not rarely(draw, 4) else first.parts
    pattern = drawn.pattern()
    predicates = kept_conditions(base.predicates, pattern)
    if variety.locals and draw(st.booleans()):
        other = [one for one in predicates if isinstance(one, Local)]
        changed = other_constants(draw, tuple(other)) if other and not rarely(draw, 8) else ()
        if not changed and variety.parts and draw(st.booleans()):
            changed = draw(local_conditions(pattern))
        predicates = (*changed, *(one for one in predicates if isinstance(one, Edge)))
    if variety.edges and rarely(draw, 4):
        predicates = (*(one for one in predicates if isinstance(one, Local)), *draw(edge_conditions(pattern)))
    outputs = kept_outputs(base.aggregates, pattern)
    if variety.outputs and draw(st.booleans()):
        outputs = draw(aggregates(sorted(variable_types(pattern))))
    equivalence, groups = base.equivalence, base.group_by
    if variety.keys and rarely(draw, 3):
        equivalence, groups = draw(keys())
    return legal(
        replace(
            base,
            pattern=pattern,
            predicates=predicates,
            aggregates=outputs,
            equivalence=equivalence,
            group_by=groups,
            window=draw(time_windows(windowed)) if variety.windows and rarely(draw, 3) else base.window,
            strategy=draw(st.sampled_from(STRATEGIES)) if variety.strategies and rarely(draw, 6) else base.strategy,
        )
    )


@st.composite
def other_queries(draw: DrawFn, first: Related, windowed: bool, lists: bool) -> Query:
    """All features crossed: only the pattern comes from the first query."""
    pattern = draw(parts(first.parts)).pattern()
    query = draw(
        queries(
            conjunction=False,
            lists=lists,
            anchors=rarely(draw, 3),
            choice=rarely(draw, 3),
            whole=lists and rarely(draw, 4),
            complete=rarely(draw, 4),
            session=rarely(draw, 5),
            calculated=not lists and rarely(draw, 3),
            ordered=not lists and rarely(draw, 3),
            pattern=pattern,
        )
    )
    if (windowed and query.window is None) or isinstance(query.window, Sliding):
        query = replace(query, window=draw(st.sampled_from(WINDOWS)))
    return query


LISTS = ("trends", "trends", "each", "rows")


@st.composite
def members(
    draw: DrawFn, first: Related, variety: Variety, windowed: bool, name: str, kind: str | None = None
) -> Member:
    """A query of the workload, of this kind or of any."""
    if kind is None and variety.kinds and rarely(draw, 14):
        return Member(name, INTERVAL, None, draw(interval_texts()))
    if kind is None:
        kind = draw(st.sampled_from(LISTS)) if variety.kinds and rarely(draw, 5) else "aggregates"
    lists = kind != "aggregates"
    if variety.others and rarely(draw, 4):
        query = draw(other_queries(first, windowed, lists))
    else:
        query = draw(derived_queries(first, variety, windowed))
    if not lists:
        query = replace(query, aggregates=tuple(_own_name(one, name) for one in query.aggregates))
        return Member(name, kind, query, text(query))
    query = replace(query, aggregates=(COUNT_ALL,))
    complete = "COMPLETE " if query.complete else ""
    if kind != "each":
        shown = "TRENDS(x, s)" if kind == "trends" else "ROWS(x)"  # s may be a group's column
        return Member(name, kind, query, shown_text(query, complete + shown))
    variable = sorted(variable_types(query.pattern))[0]
    # Of one trend a count is a plain integer, of many it is not: each has a name of its own.
    outputs = (
        Aggregate("FIRST", variable, "s"),
        Aggregate("COUNT", variable, name=f"events_{name}"),
        Aggregate("SUM", variable, "x", name=f"total_{name}"),
    )
    return Member(
        name, kind, query, shown_text(query, f"{complete}EACH {', '.join(map(output_text, outputs))}"), outputs
    )


def _own_name(output: Output, name: str) -> Output:
    """Columns of a name that says nothing have one for each query: their types differ."""
    if isinstance(output, Calculated) or output.name is not None:
        return replace(output, name=f"{output.name}_{name}")
    return output


@st.composite
def interval_texts(draw: DrawFn) -> str:
    """Intervals of the same events, with other constants; only the engine alone judges them."""
    low, high = draw(st.sampled_from([0, 1, -1])), draw(st.sampled_from([0, 0.5, 1]))
    by = draw(st.sampled_from(["", "PARTITION BY k\n", "PARTITION BY g\n"]))
    relation = draw(st.sampled_from(["overlaps; finished-by; contains", "before", "meets; overlaps", "starts; equals"]))
    return f"FROM events {by}DEFINE P AS x > {low}, Q AS y > {high}\nPATTERN P {relation} Q\nWITHIN 10 seconds"


@st.composite
def workloads(
    draw: DrawFn, variety: Variety = EVERYTHING, sizes: tuple[int, ...] = (3, 2, 4, 5, 6), windowed: bool = False
) -> tuple[Member, ...]:
    """Related queries by their names. `windowed`: all that streams can run. Some stand there under two names."""
    first = draw(first_queries(variety, windowed))
    size = draw(st.sampled_from(sizes))
    kind = draw(st.sampled_from(["aggregates", "aggregates", *LISTS])) if variety.one_kind else None
    drawn = [draw(members(first, variety, windowed, f"q{number}", kind)) for number in range(size)]
    if rarely(draw, 5):
        again = draw(st.sampled_from(drawn))
        drawn[-1] = replace(again, name=f"q{size - 1}")
    return tuple(drawn)


@st.composite
def workloads_and_streams(
    draw: DrawFn,
    variety: Variety = EVERYTHING,
    max_events: int = 9,
    sizes: tuple[int, ...] = (3, 2, 4, 5, 6),
    windowed: bool = False,
) -> tuple[tuple[Member, ...], list[dict]]:
    drawn = draw(workloads(variety, sizes, windowed))
    return drawn, draw(bursty_streams(drawn, max_events))
