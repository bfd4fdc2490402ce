"""Stored events, slowly: what the thesis defines in 3.4.2 and 3.4.3, by trying everything.

A symbol occurs at some times. A candidate has one occurrence of each symbol that is asked for, in their order, inside a
window. Nothing here imports the planner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product


def candidates(symbols: Sequence[Sequence[int]], gaps: Sequence[int], window: int) -> Iterator[tuple[int, ...]]:
    """All candidates: times that are at least a gap apart, all less than a window apart (conditions C1 and C2)."""
    for chain in product(*symbols):
        steps = zip(chain, chain[1:], gaps, strict=False)
        if all(later >= earlier + gap for earlier, later, gap in steps) and chain[-1] - chain[0] < window:
            yield chain


def replay_intervals(
    symbols: Sequence[Sequence[int]], gaps: Sequence[int], window: int, before: int | None, after: int | None
) -> set[int]:
    """All times of all intervals `Interval(c, w)`; `before` and `after` are the mandatory events around the symbols,
    None where the first, or the last, symbol of the pattern is asked for."""
    times: set[int] = set()
    for chain in candidates(symbols, gaps, window - (before or 0) - (after or 0)):
        low = chain[0] if before is None else chain[-1] - (window - 1) + (after or 0)
        high = chain[-1] if after is None else chain[0] + (window - 1) - (before or 0)
        times.update(range(low, high + 1))
    return times


def best_choice(number: int, cost: Callable[[tuple[int, ...]], float]) -> tuple[float, tuple[int, ...]]:
    """The cheapest of all choices of indexes, by trying all of them."""
    options = (chosen for size in range(number + 1) for chosen in combinations(range(number), size))
    return min((cost(chosen), chosen) for chosen in options)


def total_selectivity(selected: frozenset[str]) -> float:
    """The example in 3.4.3: `A, t*, B, C, t*, D` in a window of six events, of which `selected` symbols are asked for.
    Candidates per event: A is the nearest one before B, D the nearest one after C, and at most two events are skipped.
    """
    share = {"A": 0.1, "B": 0.05, "C": 0.25, "D": 0.1}

    def nearest(symbol: str, skipped: int) -> float:
        return share[symbol] * (1 - share[symbol]) ** skipped if symbol in selected else 1.0

    inner = [share[symbol] for symbol in ("B", "C") if symbol in selected]
    outer = sum(nearest("A", left) * nearest("D", right) for left in range(3) for right in range(3 - left))
    total = outer
    for one in inner:
        total *= one
    return total
