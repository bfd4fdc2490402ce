"""Hypothesis strategies for trees of interval queries. Trees need not make sense; they must survive printing."""

from __future__ import annotations

from hypothesis import strategies as hs

from tests.language.trees import attributes, durations, expressions, names, variables
from trendweave.language import syntax_tree as st
from trendweave.language.interval_tree import (
    MATCH_AGGREGATES,
    PREV,
    Constraint,
    IntervalColumns,
    IntervalReturn,
    IntervalTree,
    Situation,
)
from trendweave.planning.interval_plan import RELATIONS

_of_events = expressions.filter(
    lambda tree: not any(isinstance(node, st.Aggregate | st.PreviousAttribute) for node in tree.walk())
)
conditions = _of_events | hs.builds(
    lambda value, other: st.Comparison(">", value, st.Call(PREV, (other,))), attributes, _of_events
)
bounds = hs.one_of(
    hs.just((None, None)),
    durations.map(lambda low: (low, None)),
    durations.map(lambda high: (None, high)),
    hs.tuples(durations, durations).map(lambda pair: tuple(sorted(pair, key=lambda one: one.nanoseconds))),
)
situations = hs.builds(lambda name, condition, both: Situation(name, condition, *both), names, conditions, bounds)
relation_sets = hs.sets(hs.sampled_from(RELATIONS), min_size=1, max_size=4).map(
    lambda chosen: tuple(name for name in RELATIONS if name in chosen)
)
constraints = hs.builds(Constraint, names, relation_sets, names)
aggregates = hs.builds(st.Aggregate, hs.sampled_from(MATCH_AGGREGATES), hs.none() | attributes)
outputs = hs.lists(hs.builds(st.Output, aggregates | attributes, variables), min_size=1, max_size=3).map(tuple)
returns = hs.one_of(
    hs.none(),
    hs.just(IntervalReturn("situations")),
    outputs.map(lambda listed: IntervalReturn("matches", listed)),
)
interval_queries = hs.builds(
    IntervalTree,
    source=hs.none() | names | hs.builds(IntervalColumns, names, names, names) | hs.just(IntervalColumns()),
    partition_by=hs.lists(attributes, max_size=2).map(tuple),
    situations=hs.lists(situations, min_size=1, max_size=3).map(tuple),
    pattern=hs.lists(constraints, max_size=3).map(tuple),
    within=hs.none() | durations,
    detect_at_end=hs.booleans(),
    returns=returns,
    every=hs.none() | durations,
)
