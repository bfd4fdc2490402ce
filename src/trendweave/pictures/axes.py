"""Axes of charts: where a value lies, which values are marked, and how they are written. Moments are marked at round
parts of a second, at round times of day, at midnights, or where months begin."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from fractions import Fraction
from typing import cast

_MOST_TICKS = 9
#: From here on counts are told apart by their logarithm.
_WIDE = 1_000
#: The part of a logarithmic axis below its powers, where 0 is.
_BELOW = 0.08
_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_STEPS = (
    *(1, 2, 5, 10, 15, 30),
    *(_MINUTE * n for n in (1, 2, 5, 10, 15, 30)),
    *(_HOUR * n for n in (1, 2, 3, 6, 12)),
    *(_DAY * n for n in (1, 2, 7, 14)),
)
#: Parts of a second; exact, as floats of our days tell no nanoseconds apart.
_PARTS = tuple(Fraction(lead, 10**digits) for digits in range(9, 0, -1) for lead in (1, 2, 5))
#: Below this span, in seconds, whole seconds are too few marks.
_SHORT = 2
_MONTH, _MONTHS = 30.44 * _DAY, (1, 2, 3, 6, 12)


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
    step = _round_up((high - low) / _MOST_TICKS) if high > low else 1.0
    # Seconds since 1970 need more digits than others for their parts to be told apart.
    largest = max(abs(low), abs(high), step)
    digits = min(max(10, math.ceil(math.log10(largest / step)) + 1), 17)
    return Axis(_make_line(low, high, start, end), _find_multiples(low, high, step), lambda one: f"{one:,.{digits}g}")


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
    step = _round_up((float(most) - low) / 6)
    low, high = step * math.floor(low / step), step * math.ceil(float(most) / step)
    return Axis(_make_line(low, high, start, end), _find_multiples(low, high, step), write_amount)


def _make_power_axis(least: float, most: float, start: float, end: float) -> Axis:
    # math.log10 also takes whole numbers that no float can hold.
    low, high = math.floor(math.log10(least)), max(math.ceil(math.log10(most)), math.floor(math.log10(least)) + 1)
    step = int(_round_up(max(1.0, (high - low) / 8)))
    low, high = step * (low // step), step * -(-high // step)
    line = _make_line(low, high, start, end)
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


def _make_line(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    """Spread values evenly between two places; one value alone stands in the middle."""
    if high <= low:
        return lambda value: (start + end) / 2
    return lambda value: start + float((value - low) / (high - low)) * (end - start)


def _find_multiples(low: float, high: float, step: float) -> tuple[float, ...]:
    """Find the multiples of a step between two values; the lower one where there is none."""
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple(number * step for number in range(first, last + 1)) or (low,)


def _round_up(step: float) -> float:
    """Find the next of 1, 2 or 5 times a power of ten."""
    if step <= 0:
        return 1.0
    scale = 10.0 ** math.floor(math.log10(step))
    return next(scale * lead for lead in (1, 2, 5, 10) if scale * lead >= step * (1 - 1e-9))


# Moments


def make_time_axis(low: float, high: float, start: float, end: float, zone: tzinfo | None = None) -> Axis:
    """Make an axis of seconds since 1970, marked where clocks and calendars of a zone are round.

    Args:
        low: The first moment.
        high: The last one.
        start: The place of the first one.
        end: The place of the last one.
        zone: Whose clocks; UTC unless given.
    """
    if not _has_a_date_of(low) or not _has_a_date_of(high):
        return make_number_axis(low, high, start, end)
    line, span = _make_line(low, high, start, end), high - low
    if span < _SHORT:
        marks, digits = _find_parts(low, high)
        return Axis(line, marks, lambda one: _write_part(one, digits, zone), False, _tell(zone))
    step = next((step for step in _STEPS if span / step <= _MOST_TICKS), None)
    if step is not None:
        ticks = _find_multiples(low, high, step) if zone is None else _find_clock_times(low, high, step, zone)
        return Axis(line, ticks, lambda one: _write_moment(one, step, span, zone), False, _tell(zone))
    months = next((months for months in _MONTHS if span / (months * _MONTH) <= _MOST_TICKS), None)
    months = months or 12 * round(_round_up(span / (12 * _MONTH * _MOST_TICKS)))
    ticks = _find_months(low, high, months, zone)
    return Axis(line, ticks, lambda one: _write_month(one, months, one == ticks[0], zone), False, _tell(zone))


def name_days(low: float, high: float, zone: tzinfo | None = None) -> str:
    """Name the day or days of these times, where they have one."""
    if not _has_a_date_of(low) or not _has_a_date_of(high):
        return ""
    first, last = _date_of(low, zone).strftime("%Y-%m-%d"), _date_of(high, zone).strftime("%Y-%m-%d")
    return first if first == last else f"{first} to {last}"


def write_day_and_time(seconds: float, zone: tzinfo | None = None) -> str:
    """Write a moment in full, with the parts of its second where it has some."""
    if not _has_a_date_of(seconds):
        return f"{seconds:,.10g}"
    when, parts = _date_of(seconds, zone), _nanoseconds_of(seconds)
    if parts:
        return f"{when:%Y-%m-%d %H:%M:%S}.{parts:09}".rstrip("0")
    return when.strftime("%Y-%m-%d %H:%M:%S" if when.second else "%Y-%m-%d %H:%M")


def _tell(zone: tzinfo | None) -> Callable[[float], str]:
    return lambda seconds: write_day_and_time(seconds, zone)


def _has_a_date_of(seconds: float) -> bool:
    """Years 1 to 9999."""
    return -62_135_000_000 < seconds < 253_402_000_000


def _date_of(seconds: float, zone: tzinfo | None) -> datetime:
    moment = _EPOCH + timedelta(microseconds=math.floor(_exact(seconds) * 10**6))
    return moment if zone is None else moment.astimezone(zone)


def _exact(seconds: float) -> Fraction:
    """A moment without what floats add to it: they are of microseconds."""
    return seconds if isinstance(seconds, Fraction) else Fraction(round(seconds * 10**6), 10**6)


def _nanoseconds_of(seconds: float) -> int:
    """The parts of the second."""
    return int(_exact(seconds) % 1 * 10**9)


def _find_parts(low: float, high: float) -> tuple[tuple[float, ...], int]:
    """Find the round parts of a second between two moments, and how many digits tell them apart.

    Clocks of all zones show the same ones."""
    first, last = _exact(low), _exact(high)
    step = next((step for step in _PARTS if last > first and (last - first) / step <= _MOST_TICKS), Fraction(1))
    ticks = [number * step for number in range(math.ceil(first / step), math.floor(last / step) + 1)] or [first]
    digits = max(len(f"{_nanoseconds_of(cast('float', tick)):09}".rstrip("0")) for tick in ticks)
    return cast("tuple[float, ...]", tuple(ticks)), digits


def _write_part(seconds: float, digits: int, zone: tzinfo | None) -> str:
    shown = f"{_date_of(seconds, zone):%H:%M:%S}"
    return f"{shown}.{_nanoseconds_of(seconds):09}"[: len(shown) + 1 + digits] if digits else shown


def _find_clock_times(low: float, high: float, step: float, zone: tzinfo) -> tuple[float, ...]:
    """Find the moments at which clocks of a zone show round times, also on days on which they are changed."""
    first, last = (_date_of(value, zone).replace(tzinfo=UTC).timestamp() for value in (low, high))
    found = []
    for shown in _find_multiples(min(first, last) - step, max(first, last) + step, step):
        clock = (_EPOCH + timedelta(seconds=shown)).replace(tzinfo=zone)
        moment = clock.timestamp()
        if low <= moment <= high and _date_of(moment, zone).replace(tzinfo=None) == clock.replace(tzinfo=None):
            found.append(moment)
    return tuple(found) or (low,)


def _find_months(low: float, high: float, step: int, zone: tzinfo | None) -> tuple[float, ...]:
    """Find the moments at which every so many months one begins."""
    first, last = _date_of(low, zone), _date_of(high, zone)
    found = []
    for number in range((first.year * 12 + first.month - 1) // step * step, last.year * 12 + last.month, step):
        if number < 12:
            continue
        moment = datetime(number // 12, number % 12 + 1, 1, tzinfo=zone or UTC).timestamp()
        if low <= moment <= high:
            found.append(moment)
    return tuple(found) or (low,)


def _write_moment(seconds: float, step: float, span: float, zone: tzinfo | None) -> str:
    when = _date_of(seconds, zone)
    midnight = (when.hour, when.minute, when.second) == (0, 0, 0)
    if midnight and (step >= _DAY or span >= _DAY):
        return when.strftime("%d %b").lstrip("0")
    return when.strftime("%H:%M" if step >= _MINUTE and when.second == 0 else "%H:%M:%S")


def _write_month(seconds: float, step: int, first: bool, zone: tzinfo | None) -> str:
    when = _date_of(seconds, zone)
    if step >= 12:
        return f"{when:%Y}"
    return f"{when:%b %Y}" if first or when.month == 1 else f"{when:%b}"
