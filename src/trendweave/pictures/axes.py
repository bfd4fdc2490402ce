"""Axes of charts: where a value lies, which values are marked, and how they are written."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_TIME_STEPS = (
    *(1, 2, 5, 10, 15, 30),
    *(_MINUTE * n for n in (1, 2, 5, 10, 15, 30)),
    *(_HOUR * n for n in (1, 2, 3, 6, 12)),
    *(_DAY * n for n in (1, 2, 7, 14, 30, 90, 365)),
)
_MOST_TICKS = 9
#: From here on counts are told apart by their logarithm.
_WIDE = 1_000
_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


@dataclass(frozen=True, slots=True)
class Axis:
    """Where values lie along a line, and how some of them are written.

    Attributes:
        place: From a value to its place in the picture.
        ticks: The values that are marked.
        label: From a value to its text.
        log: Whether the scale is logarithmic.
    """

    place: Callable[[float], float]
    ticks: tuple[float, ...]
    label: Callable[[float], str]
    log: bool = False


def make_time_axis(low: float, high: float, start: float, end: float, zone: tzinfo | None = None) -> Axis:
    """Make an axis of seconds since 1970, marked at round times of day or at midnights of a zone (UTC unless given)."""
    if not _has_a_date_of(low) or not _has_a_date_of(high):
        return make_number_axis(low, high, start, end)
    span = high - low
    step = next((step for step in _TIME_STEPS if span / step <= _MOST_TICKS), 0) or _round_up(span / _MOST_TICKS)
    ticks = _find_multiples(low, high, step) if zone is None else _find_clock_times(low, high, step, zone)
    return Axis(_make_line(low, high, start, end), ticks, lambda value: _write_moment(value, step, span, zone))


def make_number_axis(low: float, high: float, start: float, end: float) -> Axis:
    """Make an axis of plain numbers, marked at round ones."""
    step = _round_up((high - low) / _MOST_TICKS) if high > low else 1.0
    return Axis(_make_line(low, high, start, end), _find_multiples(low, high, step), lambda value: f"{value:,.10g}")


def make_counting_axis(values: Sequence[float], start: float, end: float) -> Axis:
    """Make an axis of numbers of any size, from 0; logarithmic where they differ more than a thousand times."""
    positive = [value for value in values if value > 0]
    most = max(positive, default=1)
    # Beyond 1e300 floats, and so plain scales, end.
    if most > 10**300 or (most > _WIDE * min(positive, default=1) and min(values) >= 0):
        return _make_power_axis(min(positive), most, start, end)
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
    if high <= low:
        return lambda value: (start + end) / 2
    return lambda value: start + (value - low) / (high - low) * (end - start)


def _find_multiples(low: float, high: float, step: float) -> tuple[float, ...]:
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple(number * step for number in range(first, last + 1)) or (low,)


def _round_up(step: float) -> float:
    """Find the next of 1, 2 or 5 times a power of ten."""
    if step <= 0:
        return 1.0
    scale = 10.0 ** math.floor(math.log10(step))
    return next(scale * lead for lead in (1, 2, 5, 10) if scale * lead >= step * (1 - 1e-9))


# Times


def _has_a_date_of(seconds: float) -> bool:
    """Years 1 to 9999."""
    return -62_135_000_000 < seconds < 253_402_000_000


def name_days(low: float, high: float, zone: tzinfo | None = None) -> str:
    """Name the day or days of these times, where they have one."""
    if not _has_a_date_of(low) or not _has_a_date_of(high):
        return ""
    first, last = _date_of(low, zone).strftime("%Y-%m-%d"), _date_of(high, zone).strftime("%Y-%m-%d")
    return first if first == last else f"{first} to {last}"


def write_day_and_time(seconds: float, zone: tzinfo | None = None) -> str:
    """Write a moment in full, to the second."""
    if not _has_a_date_of(seconds):
        return f"{seconds:,.10g}"
    when = _date_of(seconds, zone)
    return when.strftime("%Y-%m-%d %H:%M:%S" if when.second else "%Y-%m-%d %H:%M")


def _date_of(seconds: float, zone: tzinfo | None) -> datetime:
    moment = _EPOCH + timedelta(seconds=seconds)
    return moment if zone is None else moment.astimezone(zone)


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


def _write_moment(seconds: float, step: float, span: float, zone: tzinfo | None) -> str:
    when = _date_of(seconds, zone)
    if step >= _DAY and (when.hour, when.minute, when.second) == (0, 0, 0):
        return when.strftime("%d %b" if span < 300 * _DAY else "%Y-%m-%d").lstrip("0")
    if span > 2 * _DAY:
        return when.strftime("%d %b %H:%M").lstrip("0")
    return when.strftime("%H:%M" if step >= _MINUTE and when.second == 0 else "%H:%M:%S")
