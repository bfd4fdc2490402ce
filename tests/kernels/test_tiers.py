"""When loops are interpreted and when they are compiled."""

import numpy as np
import pytest

from trendweave.kernel_cache.kernel import always_compile
from trendweave.kernels import Comparison, Condition, Rows, Template, aggregate
from trendweave.kernels.loops import run

KLEENE = Template(np.zeros(1, int), np.ones(1, bool), np.ones(1, bool), np.zeros(1, int), np.zeros(1, int))


@pytest.fixture
def ran(monkeypatch):
    """The tier of each loop that runs: True for those that are interpreted."""
    seen = []
    run_loop = run.run_loop

    def record(name, text, takes, values, interpreted):
        seen.append(interpreted)
        run_loop(name, text, takes, values, interpreted)

    monkeypatch.setattr("trendweave.kernels.aggregates.passes.run_loop", record)
    monkeypatch.setattr(run, "_interpreted_steps", {})
    return seen


def count(rows, operator="<"):
    numbers, window = np.arange(rows), np.zeros(rows, np.int64)
    given = Rows(np.array([0, rows]), numbers, window, window, np.ones(rows, np.uint64))
    codes = numbers % 7
    return aggregate(given, KLEENE, [Condition((Comparison(codes, operator, codes),))]).count.tolist()


def test_a_loop_that_runs_again_and_again_is_compiled(ran, monkeypatch):
    monkeypatch.setattr(run, "PATIENCE", 100)
    assert [count(20) for _ in range(4)] == [count(20)] * 4
    assert ran == [True, True, False, False, False]  # two steps per event


def test_loops_of_other_shapes_are_still_interpreted(ran, monkeypatch):
    monkeypatch.setattr(run, "PATIENCE", 50)
    count(20), count(20), count(20, "=")
    assert ran == [True, False, True]


def test_many_steps_are_compiled_at_once(ran, monkeypatch):
    monkeypatch.setattr(run, "MOST_INTERPRETED", 30)
    count(20)
    assert ran == [False]


def test_a_few_of_many_blocks_are_run_as_the_others(ran, monkeypatch):
    """What is tried first, to see whether words hold the numbers, is not interpreted where all of it is compiled."""
    monkeypatch.setattr(run, "MOST_INTERPRETED", 1_000)
    rows, numbers = 14_000, np.arange(14_000)
    given = Rows(np.array([0, rows]), numbers, numbers // 70, numbers // 70, np.ones(rows, np.uint64))
    counts = aggregate(given, KLEENE, [Condition((Comparison(numbers, ">", numbers),))]).count
    assert counts.tolist() == [70] * 200
    assert ran == [False, False]


def test_all_is_compiled_where_it_is_asked_for(ran):
    with always_compile():
        count(20)
    assert ran == [False]


def test_both_tiers_count_alike(ran, monkeypatch):
    interpreted = count(90)
    monkeypatch.setattr(run, "MOST_INTERPRETED", 0)
    assert count(90) == interpreted
    assert ran[0] is True
    assert ran[-1] is False


@pytest.mark.parametrize("values", [[0.1, 0.2, 0.3, 1e300, -1e300, 7.0], [1e-300, 3.5, 2.0**60, 0.1, 0.7, -0.3]])
def test_both_tiers_round_floats_alike(values, monkeypatch):
    from trendweave.kernels import Aggregate

    rows = len(values)
    window = np.zeros(rows, np.int64)
    given = Rows(np.array([0, rows]), np.arange(rows), window, window, np.ones(rows, np.uint64))
    codes = np.arange(rows) * 5 % 6
    conditions = [Condition((Comparison(codes, "!=", codes),))]
    sums = [Aggregate("sum", 1, np.array(values))]
    interpreted = aggregate(given, KLEENE, conditions, sums).aggregates[0]
    monkeypatch.setattr(run, "MOST_INTERPRETED", 0)
    assert aggregate(given, KLEENE, conditions, sums).aggregates[0].tobytes() == interpreted.tobytes()
