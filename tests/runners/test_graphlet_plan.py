"""Cuts of the graph: CET's search space, its optimisers and their promises."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as hs

from benchmarks.cet_search import all_plans, atomic_cuts, exhaustive, table_2
from tests.profiles import examples
from trendweave.programs.trends.lists.graphlet_plan import Costs, branch_and_bound, greedy

# CET, Table 1 and Figure 5: c1 -> c2, c1 -> c3, c3 -> c4
FIGURE_5 = [(0, 1), (0, 2), (2, 3)]


def test_figure_8() -> None:
    """c1 | c2 c3 | c4 are atomic: a cut between c2 and c3 would separate c1 from c3, and c1 is no last event there."""
    assert atomic_cuts([1, 2, 3, 4], FIGURE_5) == [1, 3]
    assert list(all_plans(3)) == [(0, 3), (0, 1, 3), (0, 2, 3), (0, 1, 2, 3)]


def test_cuts_lie_between_times() -> None:
    assert atomic_cuts([1, 1, 2, 2], [(0, 2), (0, 3), (1, 2), (1, 3)]) == [2]


def test_memory_falls_and_work_grows_from_parent_to_child() -> None:
    """CET, Theorems 2 and 3, on graphlets of three events each."""
    costs = table_2([3] * 5, [[0] * 6 for _ in range(5)])
    plans = [(0, 5), (0, 2, 5), (0, 2, 4, 5), (0, 1, 2, 4, 5), (0, 1, 2, 3, 4, 5)]
    memory, work = [costs.memory_of(plan) for plan in plans], [costs.work_of(plan) for plan in plans]
    assert memory == sorted(memory, reverse=True)
    assert work == sorted(work)


@hs.composite
def cost_tables(draw: hs.DrawFn) -> Costs:
    """Costs of the paper's model, or any costs at all."""
    sizes = draw(hs.lists(hs.integers(1, 5), min_size=1, max_size=8))
    count = len(sizes)
    numbers = hs.lists(hs.lists(hs.integers(0, 30), min_size=count + 1, max_size=count + 1), min_size=count,
                       max_size=count)  # fmt: skip
    if draw(hs.booleans()):
        return table_2(sizes, draw(numbers))
    return Costs(tuple(sizes), draw(numbers), draw(numbers), draw(hs.integers(0, 10)))


@given(cost_tables(), hs.floats(0, 1.2))
@examples(200)
def test_branch_and_bound_equals_exhaustive_search_and_is_never_worse_than_greedy(costs: Costs, share: float) -> None:
    limit = share * costs.memory_of((0, costs.atoms))
    best, all_of_them, quick = branch_and_bound(costs, limit), exhaustive(costs, limit), greedy(costs, limit)
    assert (best is None) == (all_of_them is None)
    if best is None or all_of_them is None:
        assert quick is None
        return
    assert costs.memory_of(best) <= limit
    assert abs(costs.work_of(best) - costs.work_of(all_of_them)) <= 1e-9 * costs.work_of(best)
    if quick is not None:
        assert costs.memory_of(quick) <= limit
        assert costs.work_of(best) <= costs.work_of(quick) * (1 + 1e-9)


def test_branch_and_bound_prunes() -> None:
    costs = table_2([3] * 16, [[0] * 17 for _ in range(16)])
    nodes = [0]
    branch_and_bound(costs, costs.memory_of((0, 4, 8, 12, 16)), nodes)
    assert nodes[0] < 2**15 / 50
