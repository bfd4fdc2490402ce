"""Lengths of time: units with their short forms, exact to the nanosecond."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

from trendweave.errors import LanguageError, Problem, near_names
from trendweave.language.syntax_tree import Duration, Span, problem_at

#: unit -> nanoseconds, with every spelling. Months and years have no fixed length and are left out on purpose.
_SPELLINGS: dict[str, tuple[int, str]] = {
    "week": (604_800_000_000_000, "weeks w"),
    "day": (86_400_000_000_000, "days d"),
    "hour": (3_600_000_000_000, "hours h hr hrs"),
    "minute": (60_000_000_000, "minutes m min mins"),
    "second": (1_000_000_000, "seconds s sec secs"),
    "millisecond": (1_000_000, "milliseconds ms msec msecs milli millis"),
    "microsecond": (1_000, "microseconds us µs μs usec usecs micro micros"),
    "nanosecond": (1, "nanoseconds ns nsec nsecs nano nanos"),
}
UNITS: dict[str, int] = {
    spelling: size for unit, (size, others) in _SPELLINGS.items() for spelling in (unit, *others.split())
}
#: Longest length of time that the engines can hold next to 64-bit times in nanoseconds.
MAX_NANOSECONDS = 2**62


def make_duration(
    amount: str, unit: str | None, span: Span | None, problems: list[Problem], may_be_zero: bool = False
) -> Duration:
    """The duration, or one without a length and a problem added to the list."""

    def unreadable(code: str, message: str, hint: str) -> Duration:
        problems.append(problem_at(span, code, message, hint))
        return Duration(None, span=span)

    if unit is None:
        return unreadable("TW106", "a duration needs a unit", f"write for example {amount} seconds")
    size = UNITS.get(unit) or UNITS.get(unit.lower())
    if size is None:
        known = "the units are " + ", ".join(f"{name}s" for name in _SPELLINGS)
        if unit.lower().rstrip("s") in ("month", "mon", "year", "yr", "quarter"):
            known = f"a {unit.lower().rstrip('s')} has no fixed length; write it in days"
        return unreadable("TW106", f"unknown time unit {unit}", near_names(unit, UNITS) or known)
    length = Fraction(amount) * size
    if length < 0 or (length == 0 and not may_be_zero):
        return unreadable("TW107", "a duration must be larger than zero", "write a positive duration")
    if length.denominator != 1:
        return unreadable("TW107", "a duration is a whole number of nanoseconds", "write it in a finer unit")
    if length > MAX_NANOSECONDS:
        return unreadable("TW107", "a duration is at most 146 years", "leave WITHIN out for one window over all")
    return Duration(int(length), span=span)


def refuse_zero(length: Duration, problems: list[Problem]) -> Duration:
    """The same length where it is not zero; else one without a length, and a problem added to the list."""
    if length.nanoseconds != 0:
        return length
    message, hint = "a duration must be larger than zero", "write a positive duration"
    problems.append(problem_at(length.span, "TW107", message, hint))
    return Duration(None, span=length.span)


def duration_text(nanoseconds: int) -> str:
    """Canonical text: the largest unit that divides the length, weeks left aside."""
    for unit, (size, _) in _SPELLINGS.items():
        if unit != "week" and nanoseconds % size == 0:
            amount = nanoseconds // size
            return f"{amount} {unit}" if amount == 1 else f"{amount} {unit}s"
    raise AssertionError("every length is a whole number of nanoseconds")


def read_duration(text: str, what: str, or_none_at_all: bool = False) -> int:
    """Nanoseconds of a length that is written outside a query, in an option or a setting; 0 only where that is
    allowed."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(\w+)?\s*", text) if isinstance(text, str) else None
    problems: list[Problem] = []
    if found is None:
        problems.append(Problem("TW106", f"{what}: {text!r} is not a duration", "write for example 10 seconds"))
        raise LanguageError(problems)
    length = make_duration(found[1], found[2], None, problems, or_none_at_all)
    if problems:
        raise LanguageError([replace(problem, message=f"{what}: {problem.message}") for problem in problems])
    assert length.nanoseconds is not None
    return length.nanoseconds
