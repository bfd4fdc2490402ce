"""How times are written, as a regular expression that all engines read alike."""

from __future__ import annotations

import re
from dataclasses import dataclass

from trendweave.errors import OptionError, Problem

#: The name of the usual way: 2024-05-01, 2024-05-01 12:30, 2024-05-01T12:30:59.123456+02:00.
ISO = "iso"
MONTHS = "janfebmaraprmayjunjulaugsepoctnovdec"
_ZONE = r"[Zz]|[+-]\d\d(?::?\d\d)?"
_MONTH_NAMES = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_LONG_NAMES = "january|february|march|april|may|june|july|august|september|october|november|december"
#: What stands for a part of a time: the name of the part, and how it is written.
_DIRECTIVES = {
    "Y": ("year", r"\d{4}"),
    "y": ("short_year", r"\d{2}"),
    "m": ("month", r"\d{1,2}"),
    "b": ("month_name", f"(?i:{_MONTH_NAMES})"),
    "B": ("month_name", f"(?i:{_LONG_NAMES})"),
    "d": ("day", r"\d{1,2}"),
    "H": ("hour", r"\d{1,2}"),
    "I": ("half_hour", r"\d{1,2}"),
    "p": ("half", "(?i:am|pm)"),
    "M": ("minute", r"\d{1,2}"),
    "S": ("second", r"\d{1,2}"),
    "f": ("fraction", r"\d{1,9}"),
    "z": ("zone", _ZONE),
}
_TOGETHER = {"T": "%H:%M:%S", "F": "%Y-%m-%d", "R": "%H:%M", "D": "%m/%d/%y"}
_ISO_PARTS = (
    ("year", "month", "day", "hour", "minute", "second", "fraction", "zone"),
    r"(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2})(?::(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)?)?\s*(" + _ZONE + ")?",
)


@dataclass(frozen=True, slots=True)
class Written:
    """How times are written.

    Attributes:
        parts: The names of the parts, in the order of the groups of the expression.
        expression: A regular expression that a whole text fits. RE2, Java and Python read it alike.
    """

    parts: tuple[str, ...]
    expression: str

    @property
    def is_iso(self) -> bool:
        """Whether it is the usual way."""
        return self == USUAL

    @property
    def fits_numbers(self) -> bool:
        """Whether numbers can be texts that are written so: one that begins with a year has lost no zeros."""
        return not self.is_iso and self.parts[0] == "year"

    def named(self) -> str:
        """The expression with names for its groups, as RE2 has them."""
        names = iter(self.parts)
        return re.sub(r"(?<!\\)\((?!\?)", lambda _: f"(?P<{next(names)}>", self.expression)


def _whole(expression: str) -> str:
    return rf"\A\s*{expression}\s*\z"


USUAL = Written(_ISO_PARTS[0], _whole(_ISO_PARTS[1]))


def read_format(text: str) -> Written:
    """Read how times are written.

    Args:
        text: "iso", or a text in which `%Y %y %m %b %B %d %H %I %p %M %S %f %z %T %F %R %D` stand for parts of a time,
            as in Python's `strptime`.

    Raises:
        OptionError: A part is not known, stands there twice, or the day is not told.
    """
    if text.lower() == ISO:
        return USUAL
    spelled = re.sub(r"%%|%([TFRD])", lambda found: _TOGETHER[found[1]] if found[1] else found[0], text)
    parts, expression = list[str](), ""
    for found in re.finditer(r"%(.?)|(\s+)|([^%\s]+)", spelled, re.DOTALL):
        directive, space, literal = found.groups()
        if space:
            expression += r"\s+"
        elif literal:
            expression += "".join(map(_literal, literal))
        elif directive == "%":
            expression += "%"
        elif directive in _DIRECTIVES:
            part, written = _DIRECTIVES[directive]
            parts.append(part)
            expression += f"({written})"
        else:
            known = " ".join(f"%{one}" for one in (*_DIRECTIVES, *_TOGETHER))
            raise _refuse(text, f"%{directive} is not known", f"known are {known}")
    _check(text, parts)
    return Written(tuple(parts), _whole(expression))


def _check(text: str, parts: list[str]) -> None:
    twice = sorted({part for part in parts if parts.count(part) > 1})
    if twice:
        raise _refuse(text, f"it tells the {twice[0].replace('_', ' ')} twice", "keep one of them")
    of_each = (("year", "short_year"), ("month", "month_name"), ("day",))
    for choice in of_each:
        if sum(part in parts for part in choice) != 1:
            raise _refuse(
                text, f"it does not tell the {choice[0]} once", "write it such as '%Y-%m-%d %H:%M:%S', or 'iso'"
            )
    if ("half_hour" in parts) != ("half" in parts) or ("hour" in parts and "half_hour" in parts):
        raise _refuse(text, "%I and %p go together, and without %H", "write %I with %p, or %H alone")


def _literal(character: str) -> str:
    """A character that stands for itself, in every kind of regular expression."""
    return character if character.isalnum() or character in "_ ,:;/-'\"" else rf"\x{{{ord(character):x}}}"


def _refuse(text: str, why: str, hint: str) -> OptionError:
    return OptionError([Problem("TW408", f"time_format is {text!r}: {why}", hint)])
