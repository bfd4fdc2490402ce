"""Axes of charts: where a value lies, which values are marked, and how they are written."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

MOST_TICKS = 9
#: From here on counts are told apart by their logarithm.
_WIDE = 1_000
#: The part of a logarithmic axis below its powers, where 0 is.
_BELOW = 0.08
_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


@dataclass(frozen=True, slots=True)
class Axis:
    """Where values lie along a line, and how some of them are written.

    Attributes:
        place: From a value to its place in the picture.
        ticks: The values that are marked.
        label: From a value to its text.
        log: Whether the scale is logarithmic.
        tell: From a value to its text in full, where a mark has place for less.
    """

    place: Callable[[float], float]
    ticks: tuple[float, ...]
    label: Callable[[float], str]
    log: bool = False
    tell: Callable[[float], str] | None = None


def make_number_axis(low: float, high: float, start: float, end: float) -> Axis:
    """Make an axis of plain numbers, marked at round ones."""
    step = round_up((high - low) / MOST_TICKS) if high > low else 1.0
    # Seconds since 1970 need more digits than others for their parts to be told apart.
    largest = max(abs(low), abs(high), step)
    digits = min(max(10, math.ceil(math.log10(largest / step)) + 1), 17)
    return Axis(make_line(low, high, start, end), find_multiples(low, high, step), lambda one: f"{one:,.{digits}g}")


def make_counting_axis(values: Sequence[float], start: float, end: float, *, mark_zero: bool = False) -> Axis:
    """Make an axis of numbers of any size, from 0; logarithmic where they differ more than a thousand times.

    Args:
        values: The numbers.
        start: The place of the smallest one.
        end: The place of the largest one.
        mark_zero: Whether 0 has a mark of its own on a logarithmic axis, below all powers; else it has no place there.
    """
    positive = [value for value in values if value > 0]
    most = max(positive, default=1)
    # Beyond 1e300 floats, and so plain scales, end.
    if most > 10**300 or (most > _WIDE * min(positive, default=1) and min(values) >= 0):
        axis = _make_power_axis(min(positive), most, start, end)
        return _mark_zero(axis, min(values), start, end) if mark_zero and min(values) <= 0 else axis
    low = min(0.0, float(min(values, default=0)))
    step = round_up((float(most) - low) / 6)
    low, high = step * math.floor(low / step), step * math.ceil(float(most) / step)
    return Axis(make_line(low, high, start, end), find_multiples(low, high, step), write_amount)


def _make_power_axis(least: float, most: float, start: float, end: float) -> Axis:
    # math.log10 also takes whole numbers that no float can hold.
    low, high = math.floor(math.log10(least)), max(math.ceil(math.log10(most)), math.floor(math.log10(least)) + 1)
    step = int(round_up(max(1.0, (high - low) / 8)))
    low, high = step * (low // step), step * -(-high // step)
    line = make_line(low, high, start, end)
    ticks = tuple(10**exponent if exponent >= 0 else 10.0**exponent for exponent in range(low, high + 1, step))
    return Axis(lambda value: line(math.log10(value)), ticks, write_amount, log=True)


def _mark_zero(axis: Axis, least: float, start: float, end: float) -> Axis:
    """Make place below the powers of a logarithmic axis for what has no logarithm."""
    base, share = start + _BELOW * (end - start), 1 - _BELOW
    zero = "0" if least == 0 else "0 or less"
    return Axis(
        lambda value: base + share * (axis.place(value) - start) if value > 0 else start,
        (0, *axis.ticks),
        lambda value: axis.label(value) if value > 0 else zero,
        log=True,
    )


def write_power(value: float) -> str:
    """Write a huge number, to three digits."""
    exponent = math.floor(math.log10(value) + 1e-9)
    lead = 10 ** (math.log10(value) - exponent)
    raised = "10" + str(exponent).translate(_RAISED)
    return raised if abs(lead - 1) < 0.005 else f"{lead:.2f} \N{MULTIPLICATION SIGN} {raised}"


def write_amount(value: float) -> str:
    """Write a number to the digits that an axis has place for."""
    return write_power(value) if value >= 1_000_000 else f"{value:,.6g}"


def make_line(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    """Spread values evenly between two places; one value alone stands in the middle."""
    if high <= low:
        return lambda value: (start + end) / 2
    return lambda value: start + float((value - low) / (high - low)) * (end - start)


def find_multiples(low: float, high: float, step: float) -> tuple[float, ...]:
    """Find the multiples of a step between two values; the lower one where there is none."""
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple(number * step for number in range(first, last + 1)) or (low,)


def round_up(step: float) -> float:
    """Find the next of 1, 2 or 5 times a power of ten."""
    if step <= 0:
        return 1.0
    scale = 10.0 ** math.floor(math.log10(step))
    return next(scale * lead for lead in (1, 2, 5, 10) if scale * lead >= step * (1 - 1e-9))
