"""Finds links by loops that Numba compiles for each condition."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from trendweave.expressions.compiled.loading import AROUND_CONDITION
from trendweave.expressions.compiled.paired import LEFT, PairCondition
from trendweave.kept_code.kernel import load_text

#: Pairs that there is room for at first.
_FIRST_ROOM = 1 << 16
#: Targets that are looked at before anything is written down: a loop without branches takes several at once.
_TOGETHER = 128

_LOOPS = """
@loop
def find_all({columns}low, high, room, found_from, found_to):
    used = 0
    for i in range(low.size):
        {taken}
        begin = low[i]
        while begin < high[i]:
            end = min(begin + {together}, high[i])
            some = False
            for j in range(begin, end):
                some |= test({passed})
            if some:
                for j in range(begin, end):
                    if test({passed}):
                        if used < room:
                            found_from[used], found_to[used] = i, j
                        used += 1
            begin = end
    return used


@loop
def find_first({columns}low, high, found):
    for i in range(low.size):
        {taken}
        begin = low[i]
        found[i] = -1
        while begin < high[i] and found[i] < 0:
            end = min(begin + {together}, high[i])
            some = False
            for j in range(begin, end):
                some |= test({passed})
            if some:
                for j in range(begin, end):
                    if test({passed}):
                        found[i] = j
                        break
            begin = end
"""


class CompiledLinks:
    """Links rows in this process."""

    def find_all(
        self,
        condition: PairCondition,
        sources: np.ndarray,
        targets: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        room: int,
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """See `Linker`."""
        loop, _ = _load_loops(*_describe(condition))
        columns = _gather(condition, sources, targets)
        capacity = min(room, _FIRST_ROOM, int((high - low).sum()))
        while True:
            found_from, found_to = (np.empty(max(capacity, 1), np.int64) for _ in range(2))
            count = int(loop(*columns, low, high, capacity, found_from, found_to))
            if count > room:
                return None
            if count <= capacity:
                break
            capacity = count
        order = np.argsort(found_to[:count], kind="stable")
        return found_from[:count][order], found_to[:count][order]

    def find_first(
        self, condition: PairCondition, sources: np.ndarray, targets: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> np.ndarray:
        """See `Linker`."""
        _, loop = _load_loops(*_describe(condition))
        found = np.empty(sources.size, np.int64)
        loop(*_gather(condition, sources, targets), low, high, found)
        return found


def _describe(condition: PairCondition) -> tuple[str, tuple[bool, ...]]:
    return condition.python, tuple(column.side == LEFT for column in condition.columns)


def _gather(condition: PairCondition, sources: np.ndarray, targets: np.ndarray) -> list[np.ndarray]:
    return [column.values[sources if column.side == LEFT else targets] for column in condition.columns]


@lru_cache(256)
def _load_loops(python: str, is_left: tuple[bool, ...]) -> tuple[Any, Any]:
    """Both loops for a condition; each is compiled when it is called first."""
    taken = "; ".join(f"s{number} = c{number}[i]" for number, left in enumerate(is_left) if left)
    loops = _LOOPS.format(
        columns="".join(f"c{number}, " for number in range(len(is_left))),
        taken=taken or "pass",
        passed=", ".join(f"s{number}" if left else f"c{number}[j]" for number, left in enumerate(is_left)),
        together=_TOGETHER,
    )
    source = AROUND_CONDITION.format(condition=python, loop=loops)
    return load_text(source, "find_all"), load_text(source, "find_first")
