"""Finds on a card which later rows can follow each of some rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trendweave.expressions.compiled.paired import LEFT, PairCondition
from trendweave.expressions.compiled.written import CUDA_TYPES
from trendweave.gpu.card import Card
from trendweave.gpu.sources import cuda_text

_THREADS = 256
_WARP = 32
#: Targets that one warp looks at, where a row has more of them: others share the work.
_STEP = 1 << 14
#: Pairs that there is room for at first.
_FIRST_ROOM = 1 << 20


class CardLinks:
    """Links rows on a card. Columns are copied to it once, however many conditions read them."""

    def __init__(self, card: Card) -> None:
        self._card = card
        self._columns: dict[int, tuple[np.ndarray, Any]] = {}

    def find_all(
        self,
        condition: PairCondition,
        sources: np.ndarray,
        targets: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        room: int,
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Find all pairs of a source and a target between its bounds that meet the condition.

        Args:
            condition: On a source and a target.
            sources: Rows.
            targets: Rows.
            low: Per source, the place in `targets` to begin at.
            high: Per source, the place to end before.
            room: The most pairs that are wanted.

        Returns:
            Places of sources and of targets, sorted by target and source; None where there are more than `room`.
        """
        xp = self._card.xp
        longest = int((high - low).max(initial=0))
        if longest <= 0:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        columns = self._gather(condition, sources, targets)
        bounds = [self._card.put(part.astype(np.int32)) for part in (low, high)]
        grid = (_blocks(sources.size), -(-longest // _STEP))
        capacity = min(room, _FIRST_ROOM)
        while True:
            used = xp.zeros(1, np.uint64)
            found_from, found_to = (xp.empty(max(capacity, 1), np.int32) for _ in range(2))
            self._launch(
                condition, "link_all", grid,
                (*columns, *bounds, np.int32(sources.size), np.int32(_STEP), np.uint64(capacity), used,
                 found_from, found_to),
            )  # fmt: skip
            count = int(self._card.get(used)[0])
            if count > room:
                return None
            if count <= capacity:
                break
            capacity = count
        keys = xp.sort((found_to[:count].astype(np.int64) << 32) | found_from[:count].astype(np.int64))
        both = self._card.get(keys)
        return both & 0xFFFFFFFF, both >> 32

    def find_first(
        self, condition: PairCondition, sources: np.ndarray, targets: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> np.ndarray:
        """Find for each source the first target between its bounds that meets the condition.

        Args:
            condition: On a source and a target.
            sources: Rows.
            targets: Rows.
            low: Per source, the place in `targets` to begin at.
            high: Per source, the place to end before.

        Returns:
            Places of targets, or -1.
        """
        columns = self._gather(condition, sources, targets)
        bounds = [self._card.put(part.astype(np.int32)) for part in (low, high)]
        first = self._card.xp.empty(sources.size, np.int32)
        given = (*columns, *bounds, np.int32(sources.size), first)
        self._launch(condition, "link_first", (_blocks(sources.size),), given)
        return self._card.get(first).astype(np.int64)

    def _launch(self, condition: PairCondition, kernel: str, grid: tuple[int, ...], given: Sequence[Any]) -> None:
        self._card.launch(_source(condition), kernel, grid, _THREADS, given)

    def _gather(self, condition: PairCondition, sources: np.ndarray, targets: np.ndarray) -> list[Any]:
        """The columns of the condition, those of the left row per source and those of the right one per target."""
        rows = {side: self._card.put(taken) for side, taken in ((True, sources), (False, targets))}
        return [self._column(column.values)[rows[column.side == LEFT]] for column in condition.columns]

    def _column(self, values: np.ndarray) -> Any:
        if id(values) not in self._columns:
            self._columns[id(values)] = (values, self._card.put(values))
        return self._columns[id(values)][1]


def _blocks(sources: int) -> int:
    return -(-sources * _WARP // _THREADS)


def _source(condition: PairCondition) -> str:
    """The text of the kernels for a condition."""
    kinds = [CUDA_TYPES[column.values.dtype.name] for column in condition.columns]
    is_left = [column.side == LEFT for column in condition.columns]
    parameters = "".join(f"const {kind}* __restrict__ c{number}, " for number, kind in enumerate(kinds))
    taken = " ".join(f"const {kind} s{number} = c{number}[i];" for number, kind in enumerate(kinds) if is_left[number])
    passed = ", ".join(f"s{number}" if is_left[number] else f"c{number}[j]" for number in range(len(kinds)))
    return "\n".join(
        [
            condition.cuda,
            f"#define COLUMNS {parameters}",
            f"#define TAKE(i) {taken}",
            f"#define ACCEPTS(j) test({passed})",
            cuda_text("links", room="trendweave.gpu.matching"),
        ]
    )
