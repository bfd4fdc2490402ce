"""Hypothesis strategies: small random templates, rows, conditions, guards, windows and aggregates."""

import itertools

import numpy as np
from hypothesis import strategies as st

from kernels import Aggregate, Comparison, Condition, PairTest, Rows, Template, pair_test


@st.composite
def cases(draw, most_rows=9, sums=True):
    """A case for `brute_force`: a dict of plain lists."""
    states = draw(st.integers(1, 3))
    variables = draw(st.integers(1, states))
    state_variable = [draw(st.integers(0, variables - 1)) for _ in range(states)]
    pairs = [(s, t) for s in range(states) for t in range(states)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=5))
    n = draw(st.integers(0, most_rows))
    cuts = sorted(draw(st.lists(st.integers(0, n), max_size=2)))
    segment_starts = [0, *cuts, n]
    tick, first, last = [], [], []
    style = draw(st.sampled_from(["one", "tumbling", "sliding", "moving", "odd"]))
    for begin, end in itertools.pairwise(segment_starts):
        now, low, high = draw(st.integers(0, 2)), draw(st.integers(-3, 3)), -5
        for _ in range(begin, end):
            now += draw(st.sampled_from([0, 1, 1, 1, 2]))
            tick.append(now)
            if style == "one":
                first.append(0), last.append(0)
            elif style == "tumbling":
                first.append(now // 4), last.append(now // 4)
            elif style == "sliding":
                first.append(now // 2 - 2), last.append(now // 2)
            elif style == "moving":
                first.append(now), last.append(now + 3)
            else:
                if len(tick) - 1 == begin or tick[-2] < now:  # windows are a matter of time: the same for equal ticks
                    low += draw(st.integers(0, 1))
                    high = max(high, low + draw(st.integers(-1, 3)))
                first.append(low), last.append(high)
    columns = [[draw(st.integers(-1, 4)) for _ in range(n)] for _ in range(2)]
    comparisons, guards, pair_tests = [], [], []
    simple = draw(st.booleans())
    operators = ["<", "<=", ">", ">=", "=", "!="]
    for _ in chosen:
        count = 0 if simple else draw(st.sampled_from([0, 1, 1, 2, 2, 3]))
        comparisons.append(
            [
                (draw(st.sampled_from(columns)), draw(st.sampled_from(operators)), draw(st.sampled_from(columns)))
                for _ in range(count)
            ]
        )
        guards.append(rising(draw, tick, segment_starts) if draw(st.sampled_from([0, 0, 1])) else None)
        pair_tests.append(draw(st.sampled_from([None] * 7 + ["x + y > 3"])) if not simple else None)
    flags = st.lists(st.booleans(), min_size=states, max_size=states)
    case = {
        "segment_starts": segment_starts, "tick": tick, "window_first": first, "window_last": last,
        "letters": [draw(st.integers(0, 2**variables - 1)) for _ in range(n)],
        "state_variable": state_variable, "is_start": draw(flags), "is_final": draw(flags),
        "source": [p[0] for p in chosen], "target": [p[1] for p in chosen],
        "comparisons": comparisons, "guards": guards, "columns": columns, "pair_names": pair_tests,
        "selection": draw(st.sampled_from(["any", "any", "next", "contiguous"])),
        "start_guards": {}, "final_guards": {}, "aggregates": [],
    }  # fmt: skip
    case["pair_tests"] = [
        None if name is None else (lambda p, e: columns[0][p] + columns[1][e] > 3) for name in pair_tests
    ]
    for name in ("start_guards", "final_guards"):
        if draw(st.sampled_from([0, 0, 1])):
            case[name] = {0: [draw(st.integers(-3, 5)) for _ in range(n)]}
    if sums:
        for _ in range(draw(st.integers(0, 3))):
            kind = draw(st.sampled_from(["count", "sum", "sum", "avg", "min", "max"]))
            numbers = draw(
                st.sampled_from(
                    [st.integers(-5, 5), st.integers(-(2**63), 2**63 - 1), st.sampled_from([-1.5, 0.0, 0.25, 7.0, 1e9])]
                )
            )
            values = [draw(numbers) for _ in range(n)]
            valid = [draw(st.booleans()) for _ in range(n)] if draw(st.booleans()) else None
            case["aggregates"].append((kind, draw(st.integers(1, 2**variables - 1)), values, valid))
    return case


def rising(draw, tick, segment_starts):
    """A guard: thresholds that never fall inside a segment."""
    out = []
    for begin, end in itertools.pairwise(segment_starts):
        now = draw(st.integers(-1, 2))
        for _ in range(begin, end):
            now += draw(st.integers(0, 1))
            out.append(now)
    return out


def arguments(case):
    """The same case as arguments of the kernels."""
    column = {id(c): np.array(c, np.int64) for c in case["columns"]}
    floats = [np.array(c, np.float64) for c in case["columns"]]
    program = (
        (pair_test.PREVIOUS, 0), (pair_test.NEXT, 0), (pair_test.ADD, 0), (pair_test.CONSTANT, 3.0),
        (pair_test.GREATER, 0),
    )  # fmt: skip
    conditions = [
        Condition(
            tuple(Comparison(column[id(a)], op, column[id(b)]) for a, op, b in comparisons),
            None if guard is None else np.array(guard, np.int64),
            None if name is None else PairTest((floats[0],), (floats[1],), program),
        )
        for comparisons, guard, name in zip(case["comparisons"], case["guards"], case["pair_names"], strict=True)
    ]
    integers = lambda values: np.array(values, np.int64)  # noqa: E731
    rows = Rows(
        integers(case["segment_starts"]), integers(case["tick"]), integers(case["window_first"]),
        integers(case["window_last"]), np.array(case["letters"], np.uint64),
    )  # fmt: skip
    template = Template(
        integers(case["state_variable"]), np.array(case["is_start"]), np.array(case["is_final"]),
        integers(case["source"]), integers(case["target"]),
    )  # fmt: skip
    aggregates = [
        Aggregate(
            kind, mask,
            np.array(values, np.float64 if any(isinstance(v, float) for v in values) else np.int64),
            None if valid is None else np.array(valid, bool),
        )
        for kind, mask, values, valid in case["aggregates"]
    ]  # fmt: skip
    guards = {
        name: {state: integers(guard) for state, guard in case[name].items()}
        for name in ("start_guards", "final_guards")
    }
    return {
        "rows": rows, "template": template, "transition_conditions": conditions, "aggregates": aggregates,
        "selection": case["selection"], **guards,
    }  # fmt: skip
