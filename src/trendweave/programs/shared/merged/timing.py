"""When merged queries have something to do: windows of several kinds close at their own times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trendweave.programs.program import Carry, Steps
from trendweave.rows.closing import Closing


@dataclass(frozen=True, slots=True)
class MergedTiming(Steps):
    """A closing per kind of windows. Rows wait as long as a window of any kind that holds them may come out; nothing
    outlives them."""

    closings: tuple[Closing, ...]

    @property
    def pane(self) -> int:
        return min(closing.pane for closing in self.closings)

    def due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> int | None:
        if waiting is None:
            return None
        known = []
        for closing in self.closings:
            first = waiting[0] if watermark is None else max(waiting[0], _keeps_from(closing, watermark))
            if first <= waiting[1]:
                known.append(closing.due(first, waiting[1], watermark))
        return min(known, default=None)

    def windows(self, before: int | None, watermark: int | None) -> list[tuple[int, int]]:
        """Per kind, the windows that close when the watermark moves."""
        return [closing.windows(before, watermark) for closing in self.closings]

    def touched(self, changed: tuple[int, int], before: int | None) -> list[tuple[int, int]]:
        """Per kind, the open windows whose rows change with events between these times."""
        return [closing.touched(*changed, before) for closing in self.closings]

    def reads(self, before: int | None, watermark: int | None) -> tuple[int, int]:
        return self._hull(self.windows(before, watermark))

    def _hull(self, windows: Sequence[tuple[int, int]]) -> tuple[int, int]:
        """The times of the rows that lie in one of these windows."""
        times = [closing.times(own) for closing, own in zip(self.closings, windows, strict=True)]
        known = [(first, end) for first, end in times if first < end]
        return (min(first for first, _ in known), max(end for _, end in known)) if known else (0, 0)

    def keeps_from(self, watermark: int) -> int:
        return min(_keeps_from(closing, watermark) for closing in self.closings)

    def looks_at(self, changed: tuple[int, int], before: int | None) -> tuple[int, int]:
        return self._hull(self.touched(changed, before))


def _keeps_from(closing: Closing, watermark: int) -> int:
    return closing.first_kept_pane(watermark) * closing.pane
