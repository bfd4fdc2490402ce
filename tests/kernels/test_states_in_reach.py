"""Loops over states end at the furthest one that anything can have reached, however many states a template has."""

import numpy as np
import pytest

import trendweave
from tests.kernels.forced import aggregate
from trendweave.kernels import Aggregate, Comparison, Condition, Rows, Selection, Template
from trendweave.kernels.inputs import furthest_states
from trendweave.kernels.loops import plan

# A{3} and five events: ten trends
STATES, EVENTS, TRENDS = 3, 5, 10
CHAIN = Template(np.zeros(3, int), np.arange(3) == 0, np.arange(3) == 2, np.array([0, 1]), np.array([1, 2]))
NUMBERS = np.arange(EVENTS)
ZERO = np.zeros(EVENTS, np.int64)
ROWS = Rows(np.array([0, EVENTS]), NUMBERS, ZERO, ZERO, np.ones(EVENTS, np.uint64))
RANKED = [Condition((Comparison(NUMBERS, "<", NUMBERS),))] * 2


def test_the_furthest_state_behind_each_and_the_last_that_begins():
    assert furthest_states(CHAIN).tolist() == [2, 3, 0, 1]
    backwards = Template(
        np.zeros(3, int), np.arange(3) == 2, np.arange(3) == 0, np.array([2, 1, 1]), np.array([1, 0, 1])
    )
    assert furthest_states(backwards).tolist() == [0, 2, 2, 3]


@pytest.mark.parametrize(
    ("given", "further"),
    [
        pytest.param({"aggregates": [Aggregate("max", 1, NUMBERS)]}, {"force_way": "general"}, id="extrema"),
        pytest.param({"transition_conditions": RANKED}, {}, id="ranks"),
        pytest.param({"transition_conditions": RANKED}, {"force_way": "scan"}, id="scans"),
        pytest.param({}, {"force_way": "general"}, id="blocks"),
        pytest.param({}, {"selection": Selection.NEXT}, id="next"),
    ],
)
def test_no_state_out_of_reach_is_looked_at(given, further, monkeypatch):
    """A bound that says that nothing follows a start is believed: beyond it, no state is read."""
    monkeypatch.setattr(plan, "MOST_UNROLLED", 0)
    expected = 3 if "selection" in further else TRENDS
    assert aggregate(ROWS, CHAIN, **given, **further).count.tolist() == [expected]
    monkeypatch.setattr(plan, "furthest_states", _nothing_follows)
    assert aggregate(ROWS, CHAIN, **given, **further).count.tolist() == []


def test_states_are_numbered_by_their_distance_from_the_beginning():
    """So that a few events reach a few states: after k events those at a distance of k at most."""
    letters = "(A a OR B b)"
    for pattern, reached in (("A{40}", [1, 2, 3, 4]), (f"SEQ({letters}*, A a, {letters}{{6}})", [2, 4, 8, 16])):
        template = trendweave.query(f"RETURN COUNT(*) PATTERN {pattern}").plan.template
        reach, bounds = max(start.state for start in template.starts) + 1, []
        for _ in reached:
            bounds.append(reach)
            reach = max(step.target for step in template.transitions if step.source < reach) + 1
        assert bounds == reached


def _nothing_follows(template):
    return furthest_states(template) * (np.arange(len(template.state_variable) + 1) == len(template.state_variable))
