"""Trends aggregated on a simulated card against the kernels for processors."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.gpu.simulator import SimulatedCard
from tests.kernels.random_cases import arguments, cases, dense_case
from tests.profiles import examples
from trendweave.errors import ExecutionError
from trendweave.gpu import columns
from trendweave.gpu.card import Memory
from trendweave.gpu.trends import entry, fold, propagate, written
from trendweave.gpu.trends.numbers import prime, primes_for, read_residues
from trendweave.kernels import Aggregate, Comparison, Condition, Results, Rows, Template, aggregate


def on_card(card, numbers="exact", **given):
    given["conditions"] = given.pop("transition_conditions")
    return entry.aggregate(card, numbers=numbers, **given)


def check_same(found: Results, expected: Results, added: Sequence[Aggregate] = ()) -> None:
    """The same windows and numbers; those `added` as floats may differ by what rounding makes of their values."""
    assert found.segment.tolist() == expected.segment.tolist()
    assert found.window.tolist() == expected.window.tolist()
    check_columns(found.count, expected.count)
    assert len(found.aggregates) == len(expected.aggregates)
    for ours, theirs, known, known_there, one in itertools.zip_longest(
        found.aggregates, expected.aggregates, found.valid, expected.valid, added
    ):
        assert (known is None) == (known_there is None)
        errors = rounding(one, expected.count)
        if known is not None:
            assert known.tolist() == known_there.tolist()
            ours, theirs, errors = ours[known], theirs[known], errors[known]
        check_columns(ours, theirs, errors)


def rounding(added: Aggregate | None, counts: np.ndarray) -> np.ndarray:
    """How far sums of floats may lie apart: where values of both signs cancel, they have the errors of large ones."""
    if added is None or added.values is None:
        return np.full(counts.size, 1e-6)
    return 1e-6 + 1e-12 * np.abs(added.values.astype(np.float64)).sum() * counts.astype(np.float64)


def check_columns(ours: np.ndarray, theirs: np.ndarray, errors: np.ndarray | float = 1e-6) -> None:
    assert ours.dtype == theirs.dtype or ours.size == 0
    assert ours.shape == theirs.shape
    if ours.dtype == np.float64:
        agree = np.isclose(ours, theirs, rtol=1e-9, atol=errors, equal_nan=True)
        assert agree.all(), (ours[~agree], theirs[~agree])
    else:
        assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("numbers", ["exact", "float64"])
@examples(30)
@given(case=cases())
def test_small_cases(card: SimulatedCard, numbers, case):
    assume(case["selection"] != "next")
    given = arguments(case)
    added = given["aggregates"] if numbers == "float64" else ()
    check_same(on_card(card, numbers, **given), aggregate(numbers=numbers, **given), added)


def test_sums_that_cancel(card: SimulatedCard):
    """As floats, sums of numbers near the ends of int64 keep no digit: on neither device the one of the other."""
    rows = Rows(*(np.array(one) for one in ([0, 3], [0, 0, 0], [0, 0, 0], [0, 0, 0])), np.ones(3, np.uint64))
    template = Template(np.array([0]), np.array([True]), np.array([True]), np.array([], int), np.array([], int))
    values = np.array([9_223_328_048_926_544_385, 43_980_465_111_041, -9_223_372_030_391_653_890])
    given = {
        "rows": rows,
        "template": template,
        "transition_conditions": [],
        "aggregates": [Aggregate("sum", 1, values)],
    }
    for numbers, added in (("exact", ()), ("float64", given["aggregates"])):
        check_same(on_card(card, numbers, **given), aggregate(numbers=numbers, **given), added)
    changed = {**given, "aggregates": [Aggregate("sum", 1, values + np.array([2**41, 0, 0]))]}
    other = aggregate(numbers="float64", **changed)
    with pytest.raises(AssertionError):
        check_same(on_card(card, "float64", **given), other, changed["aggregates"])


@examples(25)
@given(seed=st.integers(0, 10**6), pieces=st.sampled_from([2, 5, 1024]))
def test_many_trends(card: SimulatedCard, seed, pieces):
    case = dense_case(seed)
    assume(case["selection"] != "next")
    given = arguments(case)
    values = np.array(case["values"])
    given["aggregates"] = [Aggregate("sum", 1, values), Aggregate("count", 3), Aggregate("max", 1, values)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fold, "PIECE_ROWS", pieces)
        patch.setattr(fold, "FAN", 3)
        patch.setattr(fold, "SHORT_WINDOW", 1024 if pieces == 5 else 0)
        check_same(on_card(card, **given), aggregate(**given))


@contextmanager
def loops_over_tables():
    """Inside, transitions are not written one by one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(written, "MOST_UNROLLED", -1)
        patch.setattr(written, "MOST_STAGED", 1)
        for write in (written.write_fold, written.write_propagate):
            write.cache_clear()
        yield
    for write in (written.write_fold, written.write_propagate):
        write.cache_clear()


@examples(25)
@given(case=cases())
def test_loops_over_tables(card: SimulatedCard, case):
    assume(case["selection"] != "next")
    given = arguments(case)
    with loops_over_tables():
        check_same(on_card(card, **given), aggregate(**given))


def rising_rows(seed: int, count: int, segments: int = 1) -> tuple[Rows, np.ndarray]:
    """One state, ties in time that reach over tiles and spans."""
    rng = np.random.default_rng(seed)
    steps = rng.random(count) < rng.choice([0.02, 0.5, 1.0], count)
    nowhere = np.zeros(count, np.int64)
    starts = np.linspace(0, count, segments + 1).astype(np.int64)
    return Rows(starts, np.cumsum(steps), nowhere, nowhere, np.ones(count, np.uint64)), rng.integers(-1, 40, count)


ONE = Template(np.array([0]), np.array([True]), np.array([True]), np.array([0]), np.array([0]))


@pytest.mark.parametrize("threads", [32, 64, 128])
@pytest.mark.parametrize("spans", [(1 << 30, 1), (50, 40), (100, 64)])
@pytest.mark.parametrize("operators", [("<",), ("=", ">="), ("!=",)])
def test_long_windows(card: SimulatedCard, monkeypatch, threads, spans, operators):
    monkeypatch.setattr(propagate, "BLOCK_SIZES", ((threads, 2**62),))
    monkeypatch.setattr(propagate, "LONG_WINDOW", spans[0])
    monkeypatch.setattr(propagate, "SPAN", spans[1])
    monkeypatch.setattr(propagate, "WITHIN_THREADS", threads)
    monkeypatch.setattr(propagate, "SLICE_VERTICES", 70)
    rows, codes = rising_rows(threads + spans[0] % 7, 400, 2)
    conditions = [Condition(tuple(Comparison(codes % (10 + 30 * k), how, codes) for k, how in enumerate(operators)))]
    measured = [Aggregate("sum", 1, codes), Aggregate("max", 1, codes, codes % 5 != 0)]
    check_same(entry.aggregate(card, rows, ONE, conditions, measured), aggregate(rows, ONE, conditions, measured))


def test_segments_that_do_not_fit_together(card: SimulatedCard, monkeypatch):
    rows, codes = rising_rows(1, 300, 7)
    conditions = [Condition((Comparison(codes, "<", codes),), guard=rows.tick - 5)]
    guards = {0: codes % 3 - 1}
    measured = [Aggregate("sum", 1, codes / 4), Aggregate("max", 1, codes, codes % 5 != 0)]
    expected = aggregate(rows, ONE, conditions, measured, start_guards=guards)
    monkeypatch.setattr(SimulatedCard, "memory", lambda card: Memory(20_000, 20_000))
    assert len(entry.cut_parts(card, rows, 1, conditions, measured)) > 3
    check_same(entry.aggregate(card, rows, ONE, conditions, measured, start_guards=guards), expected)


def test_codes_of_any_size(card: SimulatedCard):
    rows, codes = rising_rows(2, 80)
    large = np.where(codes < 0, -1, codes * 2**50)
    conditions = [Condition((Comparison(large, "<=", large),))]
    check_same(entry.aggregate(card, rows, ONE, conditions), aggregate(rows, ONE, conditions))


def test_windows_keep_their_numbers_apart(card: SimulatedCard, monkeypatch):
    """Blocks of a card run side by side: windows that share rows must not share what they write."""
    rows, codes = rising_rows(5, 200)
    rows = rows._replace(window_first=rows.tick // 4 - 3, window_last=rows.tick // 4)
    starts: list[np.ndarray] = []
    launch = SimulatedCard.launch

    def watch(self, source, kernel, blocks, threads, arguments, shared_bytes=0):
        if kernel == "propagate":
            which, first, last, scratch = (np.asarray(argument) for argument in arguments[:4])
            order = which[np.argsort(scratch[which])]
            assert (scratch[order][1:] >= (scratch + last - first)[order][:-1]).all()
            starts.append(which)
        launch(self, source, kernel, blocks, threads, arguments, shared_bytes)

    monkeypatch.setattr(SimulatedCard, "launch", watch)
    monkeypatch.setattr(propagate, "AT_ONCE", 150)
    conditions = [Condition((Comparison(codes, "<", codes),))]
    check_same(entry.aggregate(card, rows, ONE, conditions), aggregate(rows, ONE, conditions))
    assert len(starts) > 3
    assert sum(which.size for which in starts) > 10


@examples(40)
@given(numbers=st.lists(st.integers(-(2**300), 2**300), min_size=1, max_size=20))
def test_numbers_from_residues(numbers):
    count = int(primes_for(np.array([max(map(int.bit_length, numbers))])).max())
    given = [np.array([number % prime(place) for number in numbers]) for place in range(count)]
    assert read_residues(given).tolist() == numbers


def test_patterns_of_many_states_are_refused(card: SimulatedCard):
    states = entry.MOST_STATES + 1
    template = Template(np.arange(states), np.ones(states, bool), np.ones(states, bool), np.array([0]), np.array([1]))
    with pytest.raises(ExecutionError, match="patterns of 17 states"):
        entry.aggregate(card, rising_rows(0, 5)[0], template)


def test_more_than_all_floats_before_the_first_event(card: SimulatedCard, monkeypatch):
    """SEQ(A, C+): a piece of 1,100 Cs would multiply a trend by more than any float, but none comes before it."""
    monkeypatch.setattr(fold, "PIECE_ROWS", 1100)
    monkeypatch.setattr(fold, "SHORT_WINDOW", 0)
    letters = np.array([2] * 2300 + [1] + [2] * 6, np.uint64)
    nowhere = np.zeros(letters.size, np.int64)
    rows = Rows(np.array([0, letters.size]), np.arange(letters.size), nowhere, nowhere, letters)
    template = Template(
        np.array([0, 1]), np.array([True, False]), np.array([False, True]), np.array([0, 1]), np.array([1, 1])
    )
    values = np.where(letters == 2, np.inf, 1.0)
    values[-3:] = 2.5
    measured = [
        Aggregate("sum", 1, values),
        Aggregate("sum", 2, np.where(np.isinf(values), np.nan, values), values < 3),
    ]
    for numbers in ("exact", "float64"):
        found = entry.aggregate(card, rows, template, None, measured, numbers=numbers)
        check_same(found, aggregate(rows, template, None, measured, numbers=numbers))
        assert found.count.tolist() == [63]


def test_columns_go_to_the_card_in_parts(card: SimulatedCard, monkeypatch):
    monkeypatch.setattr(columns, "PART_BYTES", 64)
    monkeypatch.setattr(columns, "SENDERS", {})
    for column in (np.arange(-40, 60), np.arange(9), np.arange(100) % 200):
        for kind in (np.int64, np.int32):
            sent = columns.send(card, column, kind)
            assert sent.dtype == kind
            assert sent.tolist() == column.tolist()


@pytest.mark.parametrize("largest", [1e300, 1e-300, np.inf])
def test_sums_of_floats_beyond_all_floats(card: SimulatedCard, largest):
    """Averages stay exact where sums do not fit; what is infinite stays so."""
    rows, codes = rising_rows(4, 90, 3)
    values = np.where(codes % 7 == 3, largest, codes / 8)
    values[codes % 11 == 0] *= -1
    conditions = [Condition((Comparison(codes, "!=", codes),))]
    measured = [Aggregate("sum", 1, values), Aggregate("sum", 1, values, codes % 2 == 0), Aggregate("min", 1, values)]
    check_same(entry.aggregate(card, rows, ONE, conditions, measured), aggregate(rows, ONE, conditions, measured))
