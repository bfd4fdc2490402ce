"""HAMLET's worked examples: snapshots (Tables 3 to 5), benefits (Equations 8 to 10), choices (Examples 4.4, 4.6)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.shared import sharing_plans
from tests.kernels.shared.sharing_plans import Burst
from trendweave.kernels.loops.merged import MergedTemplate
from trendweave.kernels.many_queries import SharedRows, Sharing, aggregate_shared

A, B, C, B_OF_Q2 = 0, 1, 2, 3


def integers(*values):
    return np.array(values, np.int64)


def two_queries(b_of_q2=B):
    """q1: SEQ(A, B+), q2: SEQ(C, B+); states a, b of q1, c, b of q2; the class of B has two states."""
    return MergedTemplate(
        state_window=integers(0, 0, 0, 0), state_variable=integers(A, B, C, b_of_q2),
        is_start=np.array([True, False, True, False]),
        source=integers(0, 1, 2, 3), target=integers(1, 1, 3, 3), blocker=integers(-1, -1, -1, -1),
        final_query=integers(0, 1), final_state=integers(1, 3),
        class_of=integers(0, 1, 2, 1),
        queries=2, query_window=integers(0, 0),
    )  # fmt: skip


def run(events, template):
    """Counts of q1 and q2, and what was shared."""
    count = len(events)
    letters = np.array([sum(1 << letter for letter in event) for event in events], np.uint64)
    zero = np.zeros((1, count), np.int64)
    rows = SharedRows(integers(0, count), np.arange(count), letters[:, None], zero, zero)
    results = aggregate_shared(rows, template, sharing=Sharing.ALWAYS)
    counts = dict(zip(results.query.tolist(), results.results.count.tolist(), strict=True))
    return [counts.get(query, 0) for query in range(2)], results.counts


def snapshot(events, template, row):
    """The value of a snapshot before a row that both queries read: what the row adds to each query."""
    with_row, without = (run(events[:end], template)[0] for end in (row + 1, row))
    return [more - less for more, less in zip(with_row, without, strict=True)]


def test_snapshots_at_graphlet_level():
    # Tables 3 and 4, stream a1 a2 c1 b3 b4 b5 b6 a a c c c b b
    events = [{"a": {A}, "b": {B}, "c": {C}}[letter] for letter in "aacbbbbaacccbb"]
    counts, sharing = run(events, two_queries())
    assert counts == [132, 72]
    assert snapshot(events, two_queries(), 3) == [2, 1]  # x
    assert snapshot(events, two_queries(), 12) == [34, 19]  # y
    assert (sharing.bursts_shared, sharing.snapshots, sharing.splits) == (2, 2, 0)


def test_snapshot_at_event_level():
    # b5 is read by q1 only: before it every query has x + count(b3) + count(b4) = 4x. Then q1 doubles, q2 does not.
    # q1 as before; q2: b3 = 1, b4 = 2, b6 = 4, sum 7; y = 1 + 7 + 3 = 11; b7 = 11, b8 = 22; together 40
    both, only_first = {B, B_OF_Q2}, {B}
    events = [{A}, {A}, {C}, both, both, only_first, both, {A}, {A}, {C}, {C}, {C}, both, both]
    template = two_queries(B_OF_Q2)
    counts, sharing = run(events, template)
    assert counts == [132, 40]
    assert snapshot(events, template, 3) == [2, 1]
    assert snapshot(events, template, 5) == [8, 0]  # z: Table 5 gives 8 for q1
    assert snapshot(events, template, 6) == [16, 4]
    assert snapshot(events, template, 12) == [34, 11]
    assert sharing.snapshots == 3


@pytest.mark.parametrize(
    ("burst", "shared", "alone", "benefit"),
    [
        (Burst(events=4, window=7, queries=2, created=1, propagated=1, graphlet=4, types=2), 44, 56, 12),
        (Burst(events=4, window=11, queries=2, created=1, propagated=2, graphlet=8, types=2), 120, 88, -32),
        (Burst(events=4, window=15, queries=2, created=1, propagated=1, graphlet=4, types=2), 76, 120, 44),
    ],
)
def test_benefits(burst, shared, alone, benefit):
    # Equations 8 (share), 9 (split), 10 (merge)
    assert sharing_plans.hamlet_shared(burst) == shared
    assert sharing_plans.hamlet_alone(burst) == alone
    assert sharing_plans.hamlet_benefit(burst) == benefit


def test_twelve_plans_of_four_queries():
    # Figure 7
    assert len(sharing_plans.plans((1, 2, 3, 4))) == 12


def test_snapshot_driven_pruning():
    # Example 4.4: queries 1 and 3 bring no snapshots: four plans are left, eight are pruned
    left = sharing_plans.keep_free(sharing_plans.plans((1, 2, 3, 4)), frozenset({1, 3}))
    assert {tuple(sorted(shared)) for shared, _ in left} == {(1, 3), (1, 2, 3), (1, 3, 4), (1, 2, 3, 4)}


def test_benefit_driven_pruning():
    # Example 4.6: 2 gains by sharing, 4 does not: (123)(4) is chosen
    left = sharing_plans.keep_free(sharing_plans.plans((1, 2, 3, 4)), frozenset({1, 3}))
    assert sharing_plans.keep_beneficial(left, frozenset({2}), frozenset({4})) == [
        (frozenset({1, 2, 3}), frozenset({4}))
    ]


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20), st.booleans()), min_size=1, max_size=6),
    st.integers(0, 60),
)
def test_the_two_rules_find_the_best_of_all_plans(queries, once):
    """Queries (cost if shared, cost alone, whether it brings snapshots), and what a shared graphlet costs once."""
    numbers = range(len(queries))
    free = frozenset(q for q, (shared, alone, brings) in enumerate(queries) if not brings and shared <= alone)

    def cost(shared):
        return once + sum(queries[q][0] for q in shared)

    def alone(q):
        return queries[q][1]

    everyone = frozenset(numbers)
    best = min(
        sharing_plans.plan_cost((shared, everyone - shared), cost, alone)
        for shared in sharing_plans.unions([frozenset({q}) for q in numbers])
    )
    assert sharing_plans.plan_cost(sharing_plans.choose(numbers, free, cost, alone), cost, alone) == best
    if len(queries) > 1:
        assert sharing_plans.plan_cost(sharing_plans.cheapest(numbers, cost, alone), cost, alone) >= best
