"""Active windows in steps of the time column, and what of a side they can still hold."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from trendweave.planning.operator_plans import RowCount, Window
from trendweave.rows.times import TimeType, steps_of

#: Further back than any time.
_FAR = 2**62


@dataclass(frozen=True, slots=True)
class Moving:
    """A window that moves with every moment: at t it holds times from t - back to t."""

    back: int

    @property
    def reach(self) -> int:
        """How far back it reaches at most, in steps."""
        return self.back


@dataclass(frozen=True, slots=True)
class Sliding:
    """Windows [i * slide, i * slide + length); the last one whose end is not after t + 1 is active at t."""

    length: int
    slide: int

    @property
    def reach(self) -> int:
        """How far back it reaches at most, in steps."""
        return self.length + self.slide - 2


ActiveWindow: TypeAlias = Moving | Sliding | RowCount


def in_steps(window: Window, kind: TimeType) -> ActiveWindow:
    """The active window in steps of the time column.

    Raises:
        DataError: A window that slides is finer than the time column.
    """
    if isinstance(window, RowCount):
        return window
    if window.slide is not None:
        return Sliding(steps_of(window.length, kind, "the window"), steps_of(window.slide, kind, "its slide"))
    length = Fraction(window.length, kind.step)
    whole = length.numerator // length.denominator
    return Moving(min(whole - 1 if whole == length else whole, _FAR))
