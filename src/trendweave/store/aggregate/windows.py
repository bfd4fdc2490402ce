"""Windows over stored events, and the slices that they are made of (thesis, 3.3.3).

A window of length w that moves by s is made of slices: where w is no multiple of s, time is cut both where windows
begin and where they end, so that two lengths of slices take turns: slice 2i begins with window i, slice 2i + 1 is what
lies behind the end of an earlier window. Otherwise slice i is what window i moves on by.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from trendweave.errors import ExecutionError, OptionError, Problem
from trendweave.language.durations import read_duration
from trendweave.rows.times import TimeType, steps_of

#: Rows of a result that would not fit a usual memory.
MOST_WINDOWS = 1_000_000_000
_EVENTS = re.compile(r"\s*([1-9]\d*)\s*(events?|rows?)\s*", re.I)


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows [i * slide, i * slide + length), of time or of events by their number.

    Attributes:
        length: In steps, or in events.
        slide: The same.
        of_events: Whether events are counted: the first has number 0, and only full windows are rows.
    """

    length: int
    slide: int
    of_events: bool = False

    @property
    def rest(self) -> int:
        """How far behind the beginning of a window another one ends."""
        return self.length % self.slide

    @property
    def whole(self) -> int:
        """How many slides a window has."""
        return self.length // self.slide

    @property
    def stride(self) -> int:
        """How many slices a slide has."""
        return 2 if self.rest else 1

    def slice_of(self, moments: np.ndarray) -> np.ndarray:
        """The slices in which some moments or numbers of events lie."""
        window = np.floor_divide(moments, self.slide)
        if not self.rest:
            return window
        return 2 * window + (moments - window * self.slide >= self.rest)

    def holding(self, slices: np.ndarray) -> np.ndarray:
        """All windows that hold one of these ascending slices, ascending."""
        if not slices.size:
            return slices
        last = slices // self.stride
        first = last - self.whole + (1 if not self.rest else slices & 1)
        first = np.maximum(first, np.concatenate(([first[0]], last[:-1] + 1)))
        lengths = np.maximum(last - first + 1, 0)
        ends = np.cumsum(lengths)
        if lengths.astype(np.float64).sum() > MOST_WINDOWS:
            message = f"there are more than {MOST_WINDOWS:,} windows with an event"
            raise ExecutionError([Problem("TW432", message, "ask for a longer slide, or for less time")])
        return np.repeat(first - (ends - lengths), lengths) + np.arange(ends[-1])

    def reach(self, windows: np.ndarray, slices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The places of the first slice of each window and of the first one behind it, among ascending slices."""
        end = self.stride * (windows + self.whole) + (1 if self.rest else 0)
        return np.searchsorted(slices, self.stride * windows), np.searchsorted(slices, end)


def read_windows(within: str | None, slide: str | None, kind: TimeType) -> Windows | None:
    """Windows as they are written; None for one window over all.

    Args:
        within: A length of time such as `1 day`, or a number of events such as `1000 events`.
        slide: How far a window moves, in the same.
        kind: How the time column counts.

    Raises:
        TrendweaveError: They cannot be read, or do not fit each other or the time column.
    """
    if within is None:
        if slide is not None:
            raise _wrong("slide without within", "say how long a window is, within=")
        return None
    if slide is None:
        hint = "slide=within gives tumbling windows"
        raise _wrong("within needs a slide here", hint)
    counted = [_EVENTS.fullmatch(str(text)) for text in (within, slide)]
    if all(counted):
        length, step = (int(found[1]) for found in counted if found)
    elif any(counted):
        raise _wrong("within and slide are of two kinds", "write both in events or both as lengths of time")
    else:
        length = steps_of(read_duration(within, "within"), kind, "within")
        step = steps_of(read_duration(slide, "slide"), kind, "slide")
    if step > length:
        raise _wrong("slide is larger than within", "some events would be in no window")
    return Windows(length, step, of_events=all(counted))


def _wrong(message: str, hint: str) -> OptionError:
    return OptionError([Problem("TW408", message, hint)])
