"""Random cases: small ones for enumeration, dense ones for propagation, and both as arguments of the kernels."""

import itertools

import numba
import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from tests import profiles
from trendweave.kernels import Aggregate, Comparison, Condition, PairTest, Rows, Selection, Template

OPERATORS = ["<", "<=", ">", ">=", "=", "!="]
SELECTIONS = ["any", "any", "next", "contiguous"]
PAIR_TESTS = {
    "sum above 3": lambda previous, following: previous + following > 3,
    "an even difference": lambda previous, following: (previous - following) % 2 == 0,
    "never": lambda previous, following: False,
}
EXAMPLES_WITHOUT_COMPILING = 15


def examples(in_ci):
    """As many examples as for other tests; a few where kernels are not compiled."""
    if numba.config.DISABLE_JIT:
        return settings(max_examples=EXAMPLES_WITHOUT_COMPILING)
    return profiles.examples(in_ci)


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
    for _ in chosen:
        count = 0 if simple else draw(st.sampled_from([0, 1, 1, 2, 2, 3]))
        comparisons.append(
            [
                (draw(st.sampled_from(columns)), draw(st.sampled_from(OPERATORS)), draw(st.sampled_from(columns)))
                for _ in range(count)
            ]
        )
        guards.append(rising(draw, segment_starts) if draw(st.sampled_from([0, 0, 1])) else None)
        pair_tests.append(None)
        if not simple and draw(st.sampled_from([0, 0, 0, 1])):
            name = draw(st.sampled_from(list(PAIR_TESTS)))
            pair_tests[-1] = (draw(st.sampled_from(columns)), PAIR_TESTS[name], draw(st.sampled_from(columns)))
    flags = st.lists(st.booleans(), min_size=states, max_size=states)
    case = {
        "segment_starts": segment_starts, "tick": tick, "window_first": first, "window_last": last,
        "letters": [draw(st.integers(0, 2**variables - 1)) for _ in range(n)],
        "state_variable": state_variable, "is_start": draw(flags), "is_final": draw(flags),
        "source": [p[0] for p in chosen], "target": [p[1] for p in chosen],
        "comparisons": comparisons, "guards": guards, "columns": columns, "pair_tests": pair_tests,
        "selection": draw(st.sampled_from(SELECTIONS)), "start_guards": {}, "final_guards": {}, "aggregates": [],
    }  # fmt: skip
    for name in ("start_guards", "final_guards"):
        if draw(st.sampled_from([0, 0, 1])):
            case[name] = {0: [draw(st.integers(-3, 5)) for _ in range(n)]}
    if sums:
        for _ in range(draw(st.integers(0, 3))):
            kind = draw(st.sampled_from(["count", "sum", "sum", "min", "max"]))
            numbers = draw(
                st.sampled_from(
                    [st.integers(-5, 5), st.integers(-(2**63), 2**63 - 1), st.sampled_from([-1.5, 0.0, 0.25, 7.0, 1e9])]
                )
            )
            values = [draw(numbers) for _ in range(n)]
            valid = [draw(st.booleans()) for _ in range(n)] if draw(st.booleans()) else None
            case["aggregates"].append((kind, draw(st.integers(1, 2**variables - 1)), values, valid))
    return case


def rising(draw, segment_starts):
    """A guard: thresholds that never fall inside a segment."""
    out = []
    for begin, end in itertools.pairwise(segment_starts):
        now = draw(st.integers(-1, 2))
        for _ in range(begin, end):
            now += draw(st.integers(0, 1))
            out.append(now)
    return out


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
    pairs = [(s, t) for s in range(states) for t in range(states) if rng.random() < 0.8]

    def rising_thresholds():
        parts = [np.maximum.accumulate(np.where(rng.random(k) < 0.2, tick[i : i + k] - rng.integers(0, 4), -1))
                 if k else np.empty(0, int) for i, k in ((0, cut), (cut, n - cut))]  # fmt: skip
        return np.concatenate(parts).astype(int).tolist()

    any_comparison = rng.random() < 0.7
    comparisons = [
        [
            (columns[rng.integers(2)], str(rng.choice(OPERATORS)), columns[rng.integers(2)])
            for _ in range(rng.choice([0, 1, 1, 2]) if any_comparison else 0)
        ]
        for _ in pairs
    ]
    guarded = rng.random() < 0.6
    any_pair = rng.random() < 0.2
    loose = [name for name in PAIR_TESTS if name != "never"]
    return {
        "segment_starts": [0, cut, n], "tick": tick.tolist(), "window_first": (tick // slide - overlap + 1).tolist(),
        "window_last": (tick // slide).tolist(),
        "letters": ((rng.random((n, variables)) < 0.7) @ (1 << np.arange(variables))).tolist(),
        "state_variable": rng.integers(0, variables, states).tolist(),
        "is_start": [True, *(rng.random(states - 1) < 0.5).tolist()],
        "is_final": [*(rng.random(states - 1) < 0.5).tolist(), True],
        "source": [p[0] for p in pairs], "target": [p[1] for p in pairs], "comparisons": comparisons,
        "guards": [rising_thresholds() if guarded and rng.random() < 0.6 else None for _ in pairs], "columns": columns,
        "pair_tests": [
            (columns[0], PAIR_TESTS[str(rng.choice(loose))], columns[1]) if any_pair and rng.random() < 0.7 else None
            for _ in pairs
        ],
        "selection": str(rng.choice(SELECTIONS)), "aggregates": [],
        "start_guards": {0: (tick // slide - rng.integers(0, overlap + 1, n)).tolist()} if rng.random() < 0.3 else {},
        "final_guards": {0: (tick // slide - rng.integers(0, overlap + 1, n)).tolist()} if rng.random() < 0.3 else {},
        "values": rng.integers(-50, 50, n).tolist(),
    }  # fmt: skip


def integers(values):
    return np.array(values, np.int64)


def decided(previous, holds, following):
    """A pair test as the kernels read it: the values numbered, and the answer for every pair of different values."""
    earlier, later = sorted(set(previous)), sorted(set(following))
    answers = np.array([[holds(x, y) for y in later] for x in earlier], np.bool_).reshape(len(earlier), len(later))
    return PairTest(
        integers([earlier.index(value) for value in previous]), integers([later.index(v) for v in following]), answers
    )


def arguments(case):
    """The same case as arguments of the kernels."""
    column = {id(c): integers(c) for c in case["columns"]}
    conditions = [
        Condition(
            tuple(Comparison(column[id(a)], op, column[id(b)]) for a, op, b in comparisons),
            None if guard is None else integers(guard),
            None if pair_test is None else decided(*pair_test),
        )
        for comparisons, guard, pair_test in zip(case["comparisons"], case["guards"], case["pair_tests"], strict=True)
    ]
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
        "selection": Selection[case["selection"].upper()], **guards,
    }  # fmt: skip
