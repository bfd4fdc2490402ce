"""Random merged templates and rows, as the reference and as the kernel read them, and how results are compared."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tests.reference.merged_templates import Answer, Case
from trendweave.kernels.inputs import Aggregate
from trendweave.kernels.loops.merged import MergedTemplate
from trendweave.kernels.many_queries import SharedResults, SharedRows


@st.composite
def windows(draw, ticks: list[int]) -> tuple[list[int], list[int]]:
    """First and last window per row: both go up, some rows are in none, rows of a tick are in the same."""
    first = draw(st.integers(-2, 2))
    last = first + draw(st.integers(-1, 3))
    firsts: list[int] = []
    lasts: list[int] = []
    for i, tick in enumerate(ticks):
        if i == 0 or tick != ticks[i - 1]:
            first += draw(st.sampled_from([0, 0, 0, 1, 2]))
            last += draw(st.sampled_from([0, 0, 1, 1, 2]))
        firsts.append(first)
        lasts.append(last)
    return firsts, lasts


@st.composite
def templates(draw, kinds: int, letters: int) -> dict:
    """States in classes, those that come after each other among others; a state follows itself as all of its class
    do, and states of other classes at will."""
    letter = st.integers(0, letters - 1)
    apart = draw(st.booleans())  # every class reads letters of its own, so that there are bursts
    blockers = st.sampled_from([-1, -1, -1, draw(letter)])
    states: dict[str, list] = {name: [] for name in ("window", "variable", "start", "class")}
    transitions: set[tuple[int, int, int]] = set()
    classes = 0
    for c in range(draw(st.integers(1, 4))):
        positions, members = draw(st.integers(1, 3)), draw(st.integers(1, 4))
        own = st.just(c % letters) if apart else letter
        common = [draw(own) for _ in range(positions)]
        inside = draw(
            st.sets(st.tuples(st.integers(0, positions - 1), st.integers(0, positions - 1), blockers), max_size=4)
        )
        for _ in range(members):
            kind, base = draw(st.integers(0, kinds - 1)), len(states["class"])
            for p in range(positions):
                states["window"].append(kind)
                states["variable"].append(common[p] if draw(st.booleans()) else draw(own))
                states["start"].append(draw(st.sampled_from([True, True, False])))
                states["class"].append(classes + p)
            transitions |= {(base + p, base + to, blocker) for p, to, blocker in inside}
        classes += positions
    count = len(states["class"])
    for _ in range(draw(st.integers(0, 8))):
        source, target = draw(st.integers(0, count - 1)), draw(st.integers(0, count - 1))
        if states["class"][source] != states["class"][target] and states["window"][source] == states["window"][target]:
            transitions.add((source, target, draw(blockers)))
    finals: set[tuple[int, int]] = set()
    query_window = []
    for query in range(draw(st.integers(1, 5))):
        kind = draw(st.integers(0, kinds - 1))
        query_window.append(kind)
        own = [state for state in range(count) if states["window"][state] == kind]
        if own:
            finals |= {(query, state) for state in draw(st.sets(st.sampled_from(own), min_size=1, max_size=3))}
    return {"states": states, "transitions": sorted(transitions), "finals": sorted(finals), "query": query_window}


@st.composite
def cases(draw, most_rows: int, floats: bool = False) -> tuple[Case, dict]:
    """(what the reference reads, the classes)."""
    kinds, used = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    template = draw(templates(kinds, used))
    lengths = draw(st.lists(st.integers(0, most_rows), min_size=1, max_size=3))
    starts, ticks, segment_windows = [0], [], []
    for length in lengths:
        steps = [draw(st.sampled_from([0, 1, 1, 1])) for _ in range(length)]
        own = np.cumsum(steps, dtype=int).tolist()
        ticks += own
        starts.append(len(ticks))
        segment_windows.append([draw(windows(own)) for _ in range(kinds)])
    # long runs of one letter, so that there are bursts
    rows: list[int] = []
    while len(rows) < len(ticks):
        row = draw(st.one_of(st.sampled_from([1 << v for v in range(used)]), st.sampled_from(range(2**used))))
        rows += [row] * draw(st.sampled_from([1, 1, 2, 8]))
    spread = draw(st.sampled_from([1, 37]))  # 37: letters in several words
    letters = [sum(1 << v * spread for v in range(used) if row >> v & 1) for row in rows[: len(ticks)]]
    states = template["states"]
    count = len(states["class"])
    mask = st.lists(st.booleans(), min_size=count, max_size=count)
    value = st.sampled_from([0.5, -3.25, 1e3]) if floats else st.sampled_from([0, 1, -1, 5, -1000, 2**40])
    n = len(ticks)
    linear = [(draw(mask), [draw(value) for _ in range(n)]) for _ in range(draw(st.integers(0, 2)))]
    code = st.sampled_from([None, -5, 0, 3, 9])
    extrema = [(draw(mask), [draw(code) for _ in range(n)]) for _ in range(draw(st.integers(0, 2)))]
    if draw(st.booleans()):  # measured alike, as classes are best made
        linear = [([True] * count, values) for _, values in linear]
    case = Case(
        starts, ticks, letters,
        [[x for part in segment_windows for x in part[kind][0]] for kind in range(kinds)],
        [[x for part in segment_windows for x in part[kind][1]] for kind in range(kinds)],
        states["window"], [v * spread for v in states["variable"]], states["start"],
        [(s, t, b * spread if b >= 0 else -1) for s, t, b in template["transitions"]],
        template["finals"], template["query"], linear, extrema,
    )  # fmt: skip
    return case, states


def to_rows(case: Case) -> SharedRows:
    blockers = [blocker for _, _, blocker in case.transitions]
    words = 1 + max([0, *(x.bit_length() for x in case.letters), *case.state_variable, *blockers]) // 64
    letters = np.array(
        [[row >> 64 * word & (2**64 - 1) for word in range(words)] for row in case.letters], np.uint64
    ).reshape(len(case.letters), words)
    kinds, n = len(case.window_first), len(case.tick)
    return SharedRows(
        np.array(case.segment_starts, np.int64), np.array(case.tick, np.int64), letters,
        np.array(case.window_first, np.int64).reshape(kinds, n), np.array(case.window_last, np.int64).reshape(kinds, n),
    )  # fmt: skip


def to_template(case: Case, states: dict) -> MergedTemplate:
    def integers(values) -> np.ndarray:
        return np.array(values, np.int64)

    source, target, blocker = integers(case.transitions).reshape(-1, 3).T
    query, state = integers(case.finals).reshape(-1, 2).T
    return MergedTemplate(
        integers(case.state_window), integers(case.state_variable), np.array(case.is_start, np.bool_),
        source, target, blocker, query, state,
        integers(states["class"]), len(case.query_window), integers(case.query_window),
    )  # fmt: skip


def to_measures(case: Case, floats: bool = False) -> list[Aggregate]:
    number = np.float64 if floats else np.int64
    linear = [Aggregate("sum", mask_of(states), np.array(values, number)) for states, values in case.linear]
    extrema = []
    for states, codes in case.extrema:
        known = np.array([code is not None for code in codes], bool)
        extrema.append(Aggregate("max", mask_of(states), np.array([code or 0 for code in codes], np.int64), known))
    return [*linear, *extrema]


def mask_of(states: list[bool]) -> int:
    return sum(1 << state for state, marked in enumerate(states) if marked)


def to_answers(found: SharedResults) -> dict:
    """What the kernel found, as the reference says it."""
    answers, results = {}, found.results
    for i, key in enumerate(zip(found.query.tolist(), results.segment.tolist(), results.window.tolist(), strict=True)):
        assert key not in answers
        numbers = list(zip(results.aggregates, results.valid, strict=True))
        linear = tuple(column[i] for column, known in numbers if known is None)
        extrema = tuple(int(column[i]) if known[i] else None for column, known in numbers if known is not None)
        answers[key] = Answer(results.count[i], linear, extrema)
    assert list(answers) == sorted(answers)
    return answers
