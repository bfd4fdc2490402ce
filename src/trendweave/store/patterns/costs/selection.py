"""Which indexes to ask: Pareto frontiers over what is read of the data and of indexes (thesis, 3.4.3, Algorithm 3.2).

Neither the most selective symbols nor the best choices of two halves make the best choice of the whole, but the best
one is always on the frontier: no other choice with as many indexes reads less of both. Frontiers of two halves give
that of the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

State = TypeVar("State")
#: Choices of one frontier that are kept: the few that differ most, where there are more.
_MOST = 12


class Model(Protocol[State]):
    """Estimates what of the data is read. A state tells all about many choices at once that this takes."""

    def nothing(self) -> State:
        """The state of one choice: no index."""

    def of_run(self, chosen: Sequence[int]) -> State:
        """The state of one choice: some indexes of one run of symbols."""

    def join(self, left: State, right: State) -> State:
        """The states of choices in earlier symbols with choices in later ones, pair by pair."""

    def take(self, state: State, rows: np.ndarray) -> State:
        """The states of some choices."""

    def concatenate(self, states: Sequence[State]) -> State:
        """The states of all choices, one after the other."""

    def primary(self, state: State) -> np.ndarray:
        """What of the data is read, per choice."""

    def kinds(self, state: State) -> np.ndarray:
        """A number per choice: only choices of one kind are compared before all symbols are there."""


@dataclass(frozen=True, slots=True)
class Choices(Generic[State]):
    """Many choices: which indexes (a bit each), how many they are, entries that they read, and their states."""

    bits: np.ndarray
    sizes: np.ndarray
    secondary: np.ndarray
    primary: np.ndarray
    state: State


def select_indexes(runs: Sequence[Sequence[int]], entries: np.ndarray, model: Model[State]) -> Choices[State]:
    """All choices on the frontiers, for each number of indexes.

    Args:
        runs: The indexes that can be asked for each run of symbols, by number, those that name the fewest events first.
        entries: How many entries each index reads.
        model: Estimates.

    Returns:
        The choices; the one without an index is among them.
    """
    return _select([run for run in runs if run], entries, model)


def _select(runs: Sequence[Sequence[int]], entries: np.ndarray, model: Model[State]) -> Choices[State]:
    if len(runs) > 1:
        half = len(runs) // 2
        return _join(_select(runs[:half], entries, model), _select(runs[half:], entries, model), model)
    # Of one run, the most selective ones are the best, however many they are.
    run = runs[0] if runs else ()
    states = [model.nothing(), *(model.of_run(run[: size + 1]) for size in range(len(run)))]
    bits = np.array([sum(1 << number for number in run[:size]) for size in range(len(run) + 1)], np.uint64)
    secondary = np.array([entries[list(run[:size])].sum() for size in range(len(run) + 1)], np.float64)
    state = model.concatenate(states)
    return Choices(bits, np.arange(len(run) + 1), secondary, model.primary(state), state)


def _join(left: Choices[State], right: Choices[State], model: Model[State]) -> Choices[State]:
    one = np.repeat(np.arange(left.bits.size), right.bits.size)
    other = np.tile(np.arange(right.bits.size), left.bits.size)
    state = model.join(model.take(left.state, one), model.take(right.state, other))
    sizes = left.sizes[one] + right.sizes[other]
    secondary = left.secondary[one] + right.secondary[other]
    primary = model.primary(state)
    kept = _find_frontiers(sizes, model.kinds(state), primary, secondary)
    bits = left.bits[one[kept]] | right.bits[other[kept]]
    return Choices(bits, sizes[kept], secondary[kept], primary[kept], model.take(state, kept))


def _find_frontiers(sizes: np.ndarray, kinds: np.ndarray, primary: np.ndarray, secondary: np.ndarray) -> np.ndarray:
    """The choices than which no other of the same size and kind reads less of both."""
    group = sizes * (int(kinds.max(initial=0)) + 1) + kinds
    order = np.lexsort((primary, secondary, group))
    kept = []
    for members in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        best = np.minimum.accumulate(np.append(np.inf, primary[members]))[:-1]
        frontier = members[primary[members] < best]
        if not frontier.size:
            frontier = members[:1]
        if frontier.size > _MOST:
            frontier = frontier[np.linspace(0, frontier.size - 1, _MOST).round().astype(np.int64)]
        kept.append(frontier)
    return np.concatenate(kept)
