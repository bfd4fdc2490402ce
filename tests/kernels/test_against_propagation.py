"""Longer, denser cases than enumeration can judge: guards, ties, windows and selections against Python integers."""

import os

import brute_force
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_cases import arguments

from kernels import Aggregate, aggregate

EXAMPLES = int(os.environ.get("TRENDWEAVE_EXAMPLES", "150"))
SETTINGS = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


def dense_case(seed):
    """30 to 50 rows, most transitions present, most conditions loose: many trends."""
    rng = np.random.default_rng(seed)
    states = int(rng.integers(1, 4))
    variables = int(rng.integers(1, states + 1))
    n = int(rng.integers(30, 50))
    cut = int(rng.integers(0, n))
    tick = np.concatenate([np.cumsum(rng.choice([0, 1, 1, 1, 2], part)) for part in (cut, n - cut)])
    slide, overlap = int(rng.integers(1, 6)), int(rng.integers(1, 14))
    if rng.random() < 0.3:
        slide, overlap = 1000, 1
    columns = [rng.integers(-1 if rng.random() < 0.3 else 0, 9, n).tolist() for _ in range(2)]
    pairs = [(s, t) for s in range(states) for t in range(states) if rng.random() < 0.7]

    def rising():
        parts = [np.maximum.accumulate(np.where(rng.random(k) < 0.2, tick[i : i + k] - rng.integers(0, 4), -1))
                 if k else np.empty(0, int) for i, k in ((0, cut), (cut, n - cut))]  # fmt: skip
        return np.concatenate(parts).astype(int).tolist()

    operators = ["<", "<=", ">", ">=", "=", "!="]
    any_comparison = rng.random() < 0.7
    comparisons = [
        [
            (columns[rng.integers(2)], str(rng.choice(operators)), columns[rng.integers(2)])
            for _ in range(rng.choice([0, 1, 1, 2]) if any_comparison else 0)
        ]
        for _ in pairs
    ]
    guarded = rng.random() < 0.6
    return {
        "segment_starts": [0, cut, n], "tick": tick.tolist(), "window_first": (tick // slide - overlap + 1).tolist(),
        "window_last": (tick // slide).tolist(), "letters": rng.integers(0, 2**variables, n).tolist(),
        "state_variable": rng.integers(0, variables, states).tolist(),
        "is_start": (rng.random(states) < 0.7).tolist(), "is_final": (rng.random(states) < 0.7).tolist(),
        "source": [p[0] for p in pairs], "target": [p[1] for p in pairs], "comparisons": comparisons,
        "guards": [rising() if guarded and rng.random() < 0.6 else None for _ in pairs], "columns": columns,
        "pair_names": [None] * len(pairs), "pair_tests": [None] * len(pairs),
        "selection": str(rng.choice(["any", "any", "next", "contiguous"])), "aggregates": [],
        "start_guards": {0: (tick // slide - rng.integers(0, overlap + 1, n)).tolist()} if rng.random() < 0.3 else {},
        "final_guards": {0: (tick // slide - rng.integers(0, overlap + 1, n)).tolist()} if rng.random() < 0.3 else {},
        "values": rng.integers(-50, 50, n).tolist(),
    }  # fmt: skip


@pytest.mark.parametrize("force_way", [None, "general", "scan"])
@SETTINGS
@given(seed=st.integers(0, 2**32))
def test_counts_and_sums(seed, force_way):
    case = dense_case(seed)
    truth = brute_force.propagated(case)
    given_ = arguments(case)
    values = np.array(case["values"], np.int64)
    given_["aggregates"] = [Aggregate("sum", 7, values), Aggregate("max", 7, values)]
    for numbers in ("exact", "float64"):
        results = aggregate(**given_, force_way=force_way, numbers=numbers)
        keys = list(zip(results.segment.tolist(), results.window.tolist(), strict=True))
        assert keys == sorted(truth)
        if numbers == "exact":
            assert [[int(c), int(t)] for c, t in zip(results.count, results.aggregates[0], strict=True)] == [
                truth[k] for k in keys
            ]
        else:
            np.testing.assert_allclose(results.count, [float(truth[k][0]) for k in keys], rtol=1e-9)


@SETTINGS
@given(seed=st.integers(0, 2**32))
def test_templates_without_conditions(seed):
    """The shortcuts for whole templates: totals per state, and sliding them."""
    case = dense_case(seed)
    count = len(case["source"])
    case.update(comparisons=[[]] * count, guards=[None] * count, selection="any", start_guards={}, final_guards={})
    truth = brute_force.propagated(case)
    given_ = arguments(case)
    given_["aggregates"] = [Aggregate("sum", 7, np.array(case["values"], np.int64))] * (seed % 2)
    for numbers in ("exact", "float64"):
        results = aggregate(**given_, numbers=numbers)
        keys = list(zip(results.segment.tolist(), results.window.tolist(), strict=True))
        assert keys == sorted(truth)
        np.testing.assert_allclose(results.count.astype(float), [float(truth[k][0]) for k in keys], rtol=1e-9)
        if numbers == "exact":
            assert [int(c) for c in results.count] == [truth[k][0] for k in keys]
            for column in results.aggregates:
                assert [int(t) for t in column] == [truth[k][1] for k in keys]
