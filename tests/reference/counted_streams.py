"""Hypothesis strategies: queries that counters answer, and streams for them with all kinds of numbers.

Attributes beside those of `streams`: `d` decimal, `e` a day; numbers that 64 bits can hold only alone, infinities,
numbers so far apart that one swallows the other unless sums are exact. No sum of finite doubles is beyond all doubles.
"""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from .pattern import Pattern, leaves, variable_types
from .query import ANY_MATCH, COUNT_ALL, Aggregate, Attribute, Local, Query, Sliding
from .streams import FRUITFUL, FRUITFUL_WITH_NOT, patterns, queries

WHOLE = (0, 1, -1, 2, 3, -7, 2**31, -(2**53) - 1, 2**62, -(2**62), 2**63 - 1, -(2**63))
DOUBLES = (0.0, -0.0, 0.1, 0.25, -1.5, 1e16, -1e16, 1e-300, 5e-324, 1e250, -1e250, math.inf, -math.inf, math.nan)
#: Doubles of which every order of adding gives the same sum, for engines that add doubles as they are.
PLAIN_DOUBLES = (0.0, -0.0, 0.25, -1.5, 0.75, 3.0, math.inf, -math.inf, math.nan)
DECIMALS = tuple(map(Decimal, ("0.00", "0.01", "-0.01", "1.25", "-7.10", "99999999.99", "-99999999.99")))
DAYS = tuple(date(1969, 12, 30) + timedelta(days=day) for day in range(5))


def sliding_windows() -> SearchStrategy[Sliding]:
    """Windows that tumble, that overlap in whole panes, in parts of panes, and many times."""
    return st.sampled_from(
        [(10, 10), (4, 4), (10, 5), (10, 3), (12, 8), (6, 1), (9, 6), (1, 1), (60, 60), (40, 7)]
    ).map(lambda edges: Sliding(*edges))


@st.composite
def counted_queries(draw: DrawFn, pattern: Pattern | None = None) -> Query:
    """Trends bound by nothing but time, keys and conditions on single events, in sliding windows."""
    drawn = pattern or draw(st.sampled_from(FRUITFUL) | patterns(negation=False, empty=False))
    query = draw(queries(pattern=drawn))
    names = dict(zip("kgs", draw(st.permutations("kgsyde")), strict=False))
    equivalence, group_by = _of_all_events(query.equivalence, names), _of_all_events(query.group_by, names)
    # What several keys have together is added up from doubles that are rounded already.
    rounded = {attribute.name for attribute in equivalence} - {attribute.name for attribute in group_by}
    return replace(
        query,
        aggregates=draw(outputs(sorted(variable_types(drawn)), "xd" if rounded else "xyd")),
        predicates=tuple(predicate for predicate in query.predicates if isinstance(predicate, Local)),
        equivalence=equivalence,
        group_by=group_by,
        window=draw(sliding_windows()),
        strategy=ANY_MATCH,
    )


def _of_all_events(attributes: tuple[Attribute, ...], names: dict[str, str]) -> tuple[Attribute, ...]:
    """Those that bind all events, by other names: keys are numbers, texts, doubles, decimals and days."""
    return tuple(Attribute(names[attribute.name]) for attribute in attributes if attribute.variable is None)


@st.composite
def outputs(draw: DrawFn, variables: list[str], added: str) -> tuple[Aggregate, ...]:
    """Some aggregates. `added` are the attributes that may be added up."""
    variable = st.sampled_from(variables)
    one = st.one_of(
        st.just(COUNT_ALL),
        st.builds(Aggregate, st.just("COUNT"), variable),
        st.builds(Aggregate, st.sampled_from(["SUM", "AVG"]), variable, st.sampled_from(added)),
        st.builds(Aggregate, st.sampled_from(["MIN", "MAX"]), variable, st.sampled_from("xyde")),
    )
    return tuple(draw(st.lists(one, min_size=1, max_size=4, unique_by=lambda aggregate: aggregate.column)))


@st.composite
def counted_streams(
    draw: DrawFn, pattern: Pattern, max_events: int = 8, doubles: tuple[float, ...] = DOUBLES
) -> list[dict]:
    """Rows of the pattern's types and one other, in order of time with ties and pauses; some without time or type."""
    types = sorted({leaf.type for leaf, _ in leaves(pattern) if leaf.type is not None}) * 4 + ["Z"]
    # Mostly tame numbers, so that one NaN does not hide all others.
    tame = draw(st.booleans())
    columns = {
        "type": st.sampled_from(types),
        "x": _or_null(st.sampled_from(WHOLE[:6] if tame else WHOLE)),
        "y": _or_null(st.sampled_from(doubles[:6] if tame else doubles)),
        "s": _or_null(st.sampled_from("pqr")),
        "k": _or_null(st.integers(1, 2)),
        "g": _or_null(st.sampled_from("uv")),
        "d": _or_null(st.sampled_from(DECIMALS)),
        "e": _or_null(st.sampled_from(DAYS)),
    }
    events = draw(st.lists(st.fixed_dictionaries(columns), min_size=max_events // 2, max_size=max_events))
    time = draw(st.integers(-9, 3))
    for place, event in enumerate(events):
        time += draw(st.sampled_from([0, 1, 1, 1, 2, 7]))
        events[place] = {"time": time, **event}
    if len(events) > 2 and draw(st.integers(0, 7)) == 7:
        events[-1]["time" if draw(st.booleans()) else "type"] = None
        events[-2] = dict(events[0])
    return events


def _or_null(values: SearchStrategy) -> SearchStrategy:
    return st.integers(0, 9).flatmap(lambda chosen: st.none() if chosen == 9 else values)


@st.composite
def counted_cases(draw: DrawFn, max_events: int = 8, doubles: tuple[float, ...] = DOUBLES) -> tuple[Query, list[dict]]:
    query = draw(counted_queries())
    return query, draw(counted_streams(query.pattern, max_events, doubles))


@st.composite
def blocked_queries(draw: DrawFn, decimals: bool = True) -> Query:
    """The same with NOTs in all places. Without `decimals` none are added up: whoever writes trends down cannot."""
    pattern = draw(st.sampled_from(FRUITFUL_WITH_NOT) | patterns(negation=True, empty=False))
    query = draw(counted_queries(pattern=pattern))
    kept = tuple(aggregate for aggregate in query.aggregates if decimals or aggregate.attribute != "d")
    return replace(query, aggregates=kept or (COUNT_ALL,))


@st.composite
def blocked_cases(draw: DrawFn, max_events: int = 8, doubles: tuple[float, ...] = DOUBLES) -> tuple[Query, list[dict]]:
    query = draw(blocked_queries(decimals=False))
    return query, draw(counted_streams(query.pattern, max_events, doubles))
