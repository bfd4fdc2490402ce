"""The plain loop does what the loop for everything does, to the last bit of a float."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.random_cases import arguments, dense_case, examples
from trendweave.kernels import Aggregate, Comparison, Condition, Rows, Template, aggregate
from trendweave.kernels.aggregates import passes, propagate
from trendweave.kernels.aggregates.one_state import few_rows

ALL_VARIABLES = 7


@pytest.mark.parametrize("numbers", ["exact", "float64"])
@examples(150)
@given(seed=st.integers(0, 2**32))
def test_both_loops_find_the_same_bits(seed, numbers):
    case = dense_case(seed)
    given_ = arguments(case)
    values = np.array(case["values"], np.int64)
    given_["aggregates"] = [
        Aggregate("sum", ALL_VARIABLES, values / 3),
        Aggregate("sum", ALL_VARIABLES, values),
        Aggregate("min", ALL_VARIABLES, values),
    ]
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(few_rows, "FEW_ROWS", 0)
        found.append(aggregate(**given_, numbers=numbers))
        patch.setattr(passes, "serves_plainly", lambda *_: False)
        found.append(aggregate(**given_, numbers=numbers))
    plain, general = ([results.count, *results.aggregates] for results in found)
    for ours, theirs in zip(plain, general, strict=True):
        assert [repr(one) for one in ours.tolist()] == [repr(one) for one in theirs.tolist()]


def test_the_plain_loop_runs_where_it_serves(monkeypatch):
    """Else the test above would compare the loop for everything with itself."""
    ran = []
    monkeypatch.setattr(propagate, "propagate_blocks", lambda *given_: ran.append("general"))
    run_plainly = propagate.run_plainly
    monkeypatch.setattr(propagate, "run_plainly", lambda *given_: ran.append("plain") or run_plainly(*given_))
    monkeypatch.setattr(few_rows, "FEW_ROWS", 0)
    for seed in range(40):
        case = dense_case(seed)
        case.update(selection="any", guards=[None] * len(case["guards"]), pair_tests=[None] * len(case["guards"]))
        case["comparisons"] = [some[:1] if some and some[0][1] != "!=" else [] for some in case["comparisons"]]
        given_ = arguments(case)
        given_["aggregates"] = [Aggregate("min", ALL_VARIABLES, np.array(case["values"], np.int64))]
        aggregate(**given_, numbers="float64")
    assert ran.count("plain") > 20
    assert "general" not in ran


@pytest.mark.parametrize(("rows", "loop"), [(passes.PLAIN_FLOATS, "plain"), (0, "general")])
def test_many_floats_are_for_the_loop_for_everything(rows, loop, monkeypatch):
    ran = []
    monkeypatch.setattr(propagate, "propagate_blocks", lambda *given_: ran.append("general"))
    monkeypatch.setattr(propagate, "run_plainly", lambda *given_: ran.append("plain"))
    monkeypatch.setattr(passes, "PLAIN_FLOATS", rows)
    falling = [Condition((Comparison(np.arange(40), ">", np.arange(40)),))]
    window = np.zeros(40, np.int64)
    template = Template(np.zeros(1, np.int64), np.ones(1, bool), np.ones(1, bool), *[np.zeros(1, np.int64)] * 2)
    rows = Rows(np.array([0, 40]), np.arange(40), window, window, np.ones(40, np.uint64))
    asked = [Aggregate("sum", 1, np.arange(40) / 3)]
    aggregate(rows, template, falling, asked, numbers="float64")
    assert ran == [loop]
    ran.clear()
    aggregate(rows, template, falling, [Aggregate("max", 1, np.arange(40))])
    assert "general" not in ran
