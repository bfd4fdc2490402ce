"""Which indexes are asked: the examples of 3.4.3, and all choices tried."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as hs

from tests.profiles import examples
from tests.reference.stored_patterns import best_choice, total_selectivity
from trendweave.store.patterns.costs import ChainModel, Parts, Weights, select_indexes

SYMBOLS = "ABCD"
SHARES = np.array([0.1, 0.05, 0.25, 0.1])
ONLY = np.zeros(1, np.int64)


class SkippedEvents:
    """The model of the example `A, t*, B, C, t*, D`: a state is a polynomial, whose coefficients are the candidates
    per event that skip none, one or two events. Symbols that are not asked for may be anywhere."""

    def nothing(self) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros((1, 4), np.bool_), ONLY

    def of_run(self, chosen: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        asked = np.zeros((1, 4), np.bool_)
        asked[0, list(chosen)] = True
        return asked, ONLY

    def join(self, left: tuple, right: tuple) -> tuple[np.ndarray, np.ndarray]:
        return left[0] | right[0], np.zeros(left[0].shape[0], np.int64)

    def take(self, state: tuple, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return state[0][rows], state[1][rows]

    def concatenate(self, states: Sequence[tuple]) -> tuple[np.ndarray, np.ndarray]:
        return np.concatenate([one for one, _ in states]), np.concatenate([one for _, one in states])

    def primary(self, state: tuple) -> np.ndarray:
        found = []
        for asked in state[0]:
            nearest = [
                SHARES[symbol] * (1 - SHARES[symbol]) ** np.arange(3) if asked[symbol] else np.ones(3)
                for symbol in (0, 3)
            ]
            inner = np.prod([SHARES[symbol] for symbol in (1, 2) if asked[symbol]])
            found.append(inner * np.convolve(*nearest)[:3].sum())
        return np.array(found)

    def kinds(self, state: tuple) -> np.ndarray:
        return np.zeros(state[0].shape[0], np.int64)


def test_greedy_and_dynamic_programming_fail_and_the_frontier_does_not() -> None:
    """Thesis, 3.4.3: of three indexes A, B, D are the best (0.002615), and no best choice of two is a part of them."""
    choices = select_indexes([[0], [1, 2], [3]], SHARES, SkippedEvents())
    found = zip(choices.bits.tolist(), choices.sizes, choices.primary, strict=True)
    of_three = {bits: value for bits, size, value in found if size == 3}
    assert min(of_three.values()) == pytest.approx(0.002615)
    assert min(of_three, key=of_three.__getitem__) == 0b1011
    # Asking for B, C and one of the others is what the best choices of two lead to.
    assert total_selectivity(frozenset("ABC")) == pytest.approx(0.0070125)
    assert total_selectivity(frozenset("BCD")) == pytest.approx(0.0070125)
    assert total_selectivity(frozenset("ABD")) == pytest.approx(0.002615)


def test_two_that_must_be_neighbours_beat_the_two_most_selective() -> None:
    """Thesis, 3.4.3: `A, B*, C, D` in windows of 100 events, with 1, 2 and 3 percent: C and D together, not A and C."""
    parts = Parts(*(np.array([one]) for one in (1e6, 1e6, 1e4, 100.0, 1e8, 1e6)), 100.0)
    shares = np.array([[0.01], [0.02], [0.03]])
    model = ChainModel(parts, Weights(), np.arange(3), shares, np.zeros((3, 2), np.bool_))
    choices = select_indexes([[0], [1, 2]], shares[:, 0], model)
    sizes = dict(zip(choices.bits.tolist(), choices.sizes.tolist(), strict=True))
    primary = dict(zip(choices.bits.tolist(), choices.primary, strict=True))
    assert min((bits for bits in sizes if sizes[bits] == 1), key=primary.__getitem__) == 0b001
    assert min((bits for bits in sizes if sizes[bits] == 2), key=primary.__getitem__) == 0b110


@given(hs.data())
@examples(40)
def test_the_best_of_all_choices_is_found(data: hs.DataObject) -> None:
    number = data.draw(hs.integers(1, 6))
    shares = np.array([[data.draw(hs.floats(1e-5, 0.3))] for _ in range(number)])
    cuts = [data.draw(hs.booleans()) for _ in range(number - 1)]
    runs: list[list[int]] = [[0]]
    for symbol, cut in enumerate(cuts, start=1):
        if cut:
            runs.append([symbol])
        else:
            runs[-1].append(symbol)
    runs = [sorted(run, key=lambda symbol: shares[symbol, 0]) for run in runs]
    window = data.draw(hs.sampled_from([30.0, 300.0, 3000.0]))
    bounded = np.zeros((number, 2), np.bool_)
    parts = Parts(*(np.array([one]) for one in (1e6, 1e6, 100.0, 1e4, 4e7, 1e6)), window)
    model, weights = ChainModel(parts, Weights(), np.arange(number), shares, bounded), Weights()
    entries = shares[:, 0] * 1e6

    def cost(chosen: tuple[int, ...]) -> float:
        state = model.nothing()
        for run in runs:
            taken = [symbol for symbol in run if symbol in chosen]
            state = model.join(state, model.of_run(taken)) if taken else state
        asked = weights.of_indexes(np.array([entries[list(chosen)].sum()]), np.array([len(chosen)]))
        return float(model.primary(state)[0] + asked[0])

    choices = select_indexes(runs, entries, model)
    found = (choices.primary + weights.of_indexes(choices.secondary, choices.sizes)).min()
    assert found <= best_choice(number, cost)[0] * (1 + 1e-9)


def test_thirty_two_symbols_take_little_time() -> None:
    parts = Parts(*(np.full(8, one) for one in (6e6, 6e6, 60.0, 1e5, 2e8, 6e6)), 300.0)
    shares = np.repeat(np.random.default_rng(1).uniform(0.001, 0.1, (32, 1)), 8, 1)
    model = ChainModel(parts, Weights(), np.arange(32), shares, np.zeros((32, 2), np.bool_))
    select_indexes([[symbol] for symbol in range(32)], shares[:, 0] * 5e7, model)
    began = time.process_time()
    select_indexes([[symbol] for symbol in range(32)], shares[:, 0] * 5e7, model)
    assert time.process_time() - began < 0.5  # a tenth of a second on a quiet machine
