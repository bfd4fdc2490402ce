"""Every way of summing against the enumeration of all trends."""

import math
from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels import brute_force
from tests.kernels.random_cases import arguments, cases, examples
from trendweave.kept_code import kernel
from trendweave.kept_code.kernel import always_compile
from trendweave.kernels import NO_MATCH, aggregate, match_starts
from trendweave.kernels.aggregates import passes
from trendweave.kernels.aggregates.one_state import few_rows


@pytest.fixture(autouse=True, scope="module", params=["interpreted", "compiled"])
def tier(request):
    """All kernels run both as plain Python and compiled."""
    with pytest.MonkeyPatch.context() as patch, always_compile() if request.param == "compiled" else nullcontext():
        patch.setattr(kernel, "PATIENCE", math.inf)
        patch.setattr(kernel, "MOST_ELEMENTS", math.inf)
        patch.setattr("trendweave.kept_code.cache.is_kept", lambda *_: False)
        yield


def as_dict(results, kinds):
    out = {}
    for i in range(len(results.segment)):
        parts = []
        for _, column, valid in zip(kinds, results.aggregates, results.valid, strict=True):
            parts.append(None if valid is not None and not valid[i] else column[i])
        out[int(results.segment[i]), int(results.window[i])] = (results.count[i], parts)
    return out


def same_number(kind, ours, truth, exact):
    if truth is None or ours is None:
        return truth is None and ours is None
    if exact and kind != "avg" and not isinstance(ours, float):
        return int(ours) == truth
    return math.isclose(float(ours), float(truth), rel_tol=1e-9, abs_tol=1e-3 if not exact else 1e-6)


def same(ours, truth, kinds, exact=True):
    if ours.keys() != truth.keys():
        return False
    for key, (count, parts) in truth.items():
        if not same_number("count", ours[key][0], count, exact):
            return False
        for kind, x, y in zip(kinds, ours[key][1], parts, strict=True):
            if not same_number(kind, x, y, exact):
                return False
    return True


def test_comparer_sees_differences():
    one = {(0, 0): (3, [5])}
    assert same(one, {(0, 0): (3, [5])}, ["sum"])
    assert not same(one, {(0, 0): (4, [5])}, ["sum"])
    assert not same(one, {(0, 0): (3, [6])}, ["sum"])
    assert not same(one, {(0, 1): (3, [5])}, ["sum"])
    assert not same(one, {(0, 0): (3, [None])}, ["sum"])
    assert not same(one, {}, ["sum"])


@pytest.mark.parametrize("force_way", [None, "scan", "general"])
@pytest.mark.parametrize("lanes", [64, 2])
@examples(300)
@given(case=cases(), few=st.sampled_from([0, few_rows.FEW_ROWS]))
def test_exact(case, force_way, lanes, few):
    kinds = [a[0] for a in case["aggregates"]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "LANE_NUMBERS", lanes)
        patch.setattr(few_rows, "FEW_ROWS", few)
        ours = as_dict(aggregate(**arguments(case), force_way=force_way), kinds)
    truth = brute_force.results(case)
    assert same(ours, truth, kinds), (ours, truth)


@examples(300)
@given(case=cases(), force_way=st.sampled_from([None, "scan", "general"]), few=st.sampled_from([0, few_rows.FEW_ROWS]))
def test_float64(case, force_way, few):
    case["aggregates"] = [a for a in case["aggregates"] if all(abs(v) < 2**40 for v in a[2])]
    kinds = [a[0] for a in case["aggregates"]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(few_rows, "FEW_ROWS", few)
        ours = as_dict(aggregate(**arguments(case), numbers="float64", force_way=force_way), kinds)
    assert same(ours, brute_force.results(case), kinds, exact=False)


@pytest.mark.parametrize("force_way", [None, "scan"])
@examples(300)
@given(case=cases(sums=False))
def test_match_starts(case, force_way):
    case.update(start_guards={}, final_guards={})
    given_ = arguments(case)
    starts = match_starts(
        given_["rows"], given_["template"], given_["transition_conditions"], given_["selection"], force_way
    )
    assert [None if start == NO_MATCH else start for start in starts] == brute_force.match_starts(case)
