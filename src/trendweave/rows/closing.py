"""What a watermark closes, and what it lets go. Times and watermarks are in steps of the time column.

A window closes when the watermark reaches its end. Of a window that moves with the stream, a time closes when the
watermark is behind it, or so far behind it as later events matter. Rows are kept by pane: as long as a window that
holds some time of the pane may still come out.
"""

from __future__ import annotations

from dataclasses import dataclass

from trendweave.planning.plan import MovingWindow, SlidingWindow, Window
from trendweave.rows.times import TimeType, moving_reach, moving_span, steps_of

#: Before and after everything: the ends of 64 bits, as a time may lie there.
_FIRST, _LAST = -(2**63), 2**63 - 1
#: Panes per window, at most: fewer make fewer, larger pieces of state, and keep rows a little longer than needed.
_PANES = 8


@dataclass(frozen=True, slots=True)
class Closing:
    """For windows of `length` every `slide`, or (slide 0) for times that look back over `length` and wait for the rows
    of the next `wait` steps, their own included. Rows of a window are kept in so many `panes` at most; 0: they go one
    by one."""

    length: int
    slide: int
    wait: int = 1
    panes: int = _PANES

    @staticmethod
    def of(window: Window, kind: TimeType, at_once: bool = False) -> Closing | None:
        """None for one window over the whole input, which no watermark closes. `at_once`: what stands at first events
        is looked at as soon as the watermark is behind it, and again as long as later events matter."""
        match window:
            case SlidingWindow(length=length, slide=slide):
                return Closing(steps_of(length, kind, "WITHIN"), steps_of(slide, kind, "SLIDE"))
            case MovingWindow(by="time"):
                return Closing(moving_reach(window, kind)[0], 0)
            case MovingWindow(by="last", wide=wide):
                span = moving_span(window, kind)
                return Closing(span - 1, 0, wait=span if wide else 1)
            case MovingWindow(wide=wide):
                span = moving_span(window, kind)
                before = span - 1 if wide else 0
                return Closing(before + span - 1, 0) if at_once else Closing(before, 0, wait=span)
        return None

    def windows(self, before: int | None, watermark: int | None) -> tuple[int, int]:
        """First and last number of the windows (or times) that close when the watermark moves from `before`."""
        if not self.slide:
            first = _FIRST if before is None else before - self.wait + 1
            return first, _LAST if watermark is None else watermark - self.wait
        first = _FIRST if before is None else (before - self.length) // self.slide + 1
        return first, _LAST if watermark is None else (watermark - self.length) // self.slide

    def times(self, windows: tuple[int, int]) -> tuple[int, int]:
        """The times, from and up to but without, of the rows that lie in one of these windows."""
        first, last = windows
        if first > last:
            return 0, 0
        if self.slide:
            return first * self.slide, last * self.slide + self.length
        return first - self.length, last + self.wait

    def touched(self, earliest: int, latest: int, closed: int | None) -> tuple[int, int]:
        """The open windows (or times) whose rows change with events between these times."""
        first = self.windows(closed, None)[0]
        if not self.slide:
            return max(first, earliest - self.wait + 1), latest + self.length
        return max(first, (earliest - self.length) // self.slide + 1), latest // self.slide

    def _lowest_kept(self, watermark: int) -> int:
        if not self.slide:
            return watermark - self.wait + 1 - self.length
        return ((watermark - self.length) // self.slide + 1) * self.slide

    def due(self, earliest: int, latest: int, watermark: int | None) -> int:
        """The watermark at which something of rows between these times closes next, or can be let go.

        Nothing that closed at `watermark` already is due again.
        """
        if not self.slide:
            pending = earliest if watermark is None else max(earliest, watermark - self.wait + 1)
            if pending <= latest:
                return pending + self.wait
            # Where all times have closed, the last pane waits to be let go.
            return (latest // self.pane + 1) * self.pane + self.length + self.wait - 1
        first = (earliest - self.length) // self.slide + 1
        if watermark is not None:
            first = max(first, (watermark - self.length) // self.slide + 1)
        return first * self.slide + self.length

    # Panes

    @property
    def pane(self) -> int:
        """The length of a pane: a whole number of slides, so that panes of closed windows go as one."""
        if not self.panes:
            return 1
        if not self.slide:
            return max(1, -(-(self.length + self.wait - 1) // self.panes))
        return -(-self.length // (self.panes * self.slide)) * self.slide

    def first_kept_pane(self, watermark: int) -> int:
        return self._lowest_kept(watermark) // self.pane
