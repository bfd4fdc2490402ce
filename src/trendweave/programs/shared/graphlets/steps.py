"""Queries in one automaton piece by piece: windows of several kinds close at their own times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trendweave.programs.program import EVERYTHING, Carry
from trendweave.programs.shared.rows import SharedRows
from trendweave.programs.shared.unit import Found, UnitStep
from trendweave.rows.closing import Closing

if TYPE_CHECKING:
    from trendweave.programs.shared.graphlets.unit import GraphletsUnit


@dataclass(frozen=True, slots=True)
class GraphletSteps:
    """A closing per kind of windows. Rows wait as long as a window of any kind that holds them may come out; nothing
    outlives them."""

    unit: GraphletsUnit
    closings: tuple[Closing, ...]
    in_parts: bool

    @property
    def pane(self) -> int:
        return min(closing.pane for closing in self.closings)

    @property
    def carries(self) -> bool:
        return False

    @property
    def folds(self) -> bool:
        return False

    def due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> int | None:
        if waiting is None:
            return None
        known = []
        for closing in self.closings:
            first = waiting[0] if watermark is None else max(waiting[0], _keeps_from(closing, watermark))
            if first <= waiting[1]:
                known.append(closing.due(first, waiting[1], watermark))
        return min(known, default=None)

    def reads(self, before: int | None, watermark: int | None) -> tuple[int, int]:
        return self._hull([closing.windows(before, watermark) for closing in self.closings])

    def _hull(self, windows: Sequence[tuple[int, int]]) -> tuple[int, int]:
        """The times of the rows that lie in one of these windows."""
        times = [closing.times(own) for closing, own in zip(self.closings, windows, strict=True)]
        known = [(first, end) for first, end in times if first < end]
        return (min(first for first, _ in known), max(end for _, end in known)) if known else (0, 0)

    def keeps_from(self, watermark: int) -> int:
        return min(_keeps_from(closing, watermark) for closing in self.closings)

    def step(self, rows: SharedRows, carry: Carry, before: int | None, watermark: int | None) -> UnitStep:
        windows = [closing.windows(before, watermark) for closing in self.closings]
        found = self.unit.aggregate(rows, windows)
        if self.in_parts:
            return UnitStep(self.unit.as_parts(found, EVERYTHING))
        return UnitStep(columns.write(results, EVERYTHING) for columns, results in found)

    def looks_at(self, changed: tuple[int, int], before: int | None) -> tuple[int, int]:
        return self._hull([closing.touched(*changed, before) for closing in self.closings])

    def peek(self, rows: SharedRows, changed: tuple[int, int], before: int | None) -> Iterable[Found]:
        return self._peek(rows, [closing.touched(*changed, before) for closing in self.closings])

    def _peek(self, rows: SharedRows, windows: list[tuple[int, int]]) -> Iterator[Found]:
        for columns, results in self.unit.aggregate(rows, windows):
            yield columns.write(results, EVERYTHING)


def _keeps_from(closing: Closing, watermark: int) -> int:
    return closing.first_kept_pane(watermark) * closing.pane
