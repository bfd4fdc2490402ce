"""Every way of summing against the enumeration of all trends."""

import math
import os

import brute_force
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_cases import arguments, cases

import kernels.trend_aggregates as entry
from kernels import NO_MATCH, aggregate, latest_start

EXAMPLES = int(os.environ.get("TRENDWEAVE_EXAMPLES", "300"))
SETTINGS = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


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
@SETTINGS
@given(case=cases())
def test_exact(case, force_way, lanes):
    kinds = [a[0] for a in case["aggregates"]]
    truth = brute_force.results(case)
    entry.LANE_NUMBERS, before = lanes, entry.LANE_NUMBERS
    try:
        ours = as_dict(aggregate(**arguments(case), force_way=force_way), kinds)
    finally:
        entry.LANE_NUMBERS = before
    assert same(ours, truth, kinds), (ours, truth)


@SETTINGS
@given(case=cases(), force_way=st.sampled_from([None, "scan", "general"]))
def test_float64(case, force_way):
    case["aggregates"] = [a for a in case["aggregates"] if all(abs(v) < 2**40 for v in a[2])]
    kinds = [a[0] for a in case["aggregates"]]
    ours = as_dict(aggregate(**arguments(case), numbers="float64", force_way=force_way), kinds)
    assert same(ours, brute_force.results(case), kinds, exact=False)


@SETTINGS
@given(case=cases(sums=False))
def test_log2(case):
    ours = aggregate(**arguments(case), numbers="log2")
    truth = brute_force.results(case)
    assert [round(2**x) for x in ours.count] == [truth[key][0] for key in sorted(truth)]


@pytest.mark.parametrize("force_way", [None, "scan"])
@SETTINGS
@given(case=cases(sums=False), data=st.data())
def test_latest_start(case, force_way, data):
    case.update(start_guards={}, final_guards={})
    segments = len(case["segment_starts"]) - 1
    queries = data.draw(st.lists(st.tuples(st.integers(0, segments - 1), st.integers(-1, 25)), max_size=6))
    given_ = arguments(case)
    ours = latest_start(
        given_["rows"], given_["template"], given_["transition_conditions"],
        np.array([q[0] for q in queries], np.int64), np.array([q[1] for q in queries], np.int64),
        selection=case["selection"], force_way=force_way,
    )  # fmt: skip
    case.update(window_first=[0] * len(case["tick"]), window_last=[0] * len(case["tick"]))
    truth = brute_force.latest_starts(case, queries)
    assert [None if x == NO_MATCH else x for x in ours] == truth
