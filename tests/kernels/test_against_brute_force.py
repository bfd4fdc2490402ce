"""Every way of summing against the enumeration of all trends."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels import brute_force
from tests.kernels.forced import TIERS, aggregate, force_tier, match_starts
from tests.kernels.random_cases import arguments, cases, examples
from trendweave.kernel_cache.kernel import always_compile
from trendweave.kernels import NO_MATCH
from trendweave.kernels.aggregates import passes
from trendweave.kernels.loops import plan

#: A loop is compiled once per shape of a query, which nearly every random case has one of its own of.
COMPILED_CASES = 6


@pytest.fixture(autouse=True, scope="module", params=TIERS)
def tier(request):
    """Loops of every tier, interpreted."""
    with pytest.MonkeyPatch.context() as patch:
        force_tier(request.param, patch)
        yield request.param


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
    if exact and not isinstance(ours, float):
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


def check(case, force_way, numbers="exact", lanes=64, unrolled=plan.MOST_UNROLLED):
    """Hold one case against the enumeration of its trends."""
    if numbers == "float64":
        case["aggregates"] = [a for a in case["aggregates"] if all(abs(v) < 2**40 for v in a[2])]
    kinds = [a[0] for a in case["aggregates"]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "LANE_NUMBERS", lanes)
        patch.setattr(plan, "MOST_UNROLLED", unrolled)
        ours = as_dict(aggregate(**arguments(case), numbers=numbers, force_way=force_way), kinds)
    truth = brute_force.results(case)
    assert same(ours, truth, kinds, exact=numbers == "exact"), (ours, truth)


ways = st.sampled_from([None, "scan", "general"])
unrolled_up_to = st.sampled_from([0, plan.MOST_UNROLLED])


@pytest.mark.parametrize("lanes", [64, 2])
@examples(200)
@given(case=cases(), force_way=ways, unrolled=unrolled_up_to)
def test_exact(case, force_way, lanes, unrolled):
    check(case, force_way, "exact", lanes, unrolled)


@examples(120)
@given(case=cases(), force_way=ways, unrolled=unrolled_up_to)
def test_float64(case, force_way, unrolled):
    check(case, force_way, "float64", 64, unrolled)


@examples(COMPILED_CASES)
@given(case=cases(), force_way=ways, unrolled=unrolled_up_to)
def test_compiled(tier, case, force_way, unrolled):
    if tier != "checked":
        pytest.skip("compiled once")
    with always_compile():
        check(case, force_way, "exact", 64, unrolled)
        check(case, force_way, "float64", 64, unrolled)


@pytest.mark.parametrize("force_way", [None, "scan"])
@examples(120)
@given(case=cases(sums=False))
def test_match_starts(case, force_way):
    case.update(start_guards={}, final_guards={})
    given_ = arguments(case)
    starts = match_starts(
        given_["rows"], given_["template"], given_["transition_conditions"], given_["selection"], force_way
    )
    assert [None if start == NO_MATCH else start for start in starts] == brute_force.match_starts(case)
