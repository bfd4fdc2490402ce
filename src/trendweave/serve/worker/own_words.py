"""Errors and notes in the words of the page: the package speaks of arguments of Python, a page has fields."""

from __future__ import annotations

import re
from dataclasses import replace

from trendweave.errors import Problem

#: What the package says, and what the page says instead; tried one after the other.
_WORDS = tuple(
    (re.compile(said), instead)
    for said, instead in (
        (r"name it with time=\"(.*)\", the", r"choose \1 under Time, the"),
        (r"name it with time=", "choose it under Time"),
        (r"name it with type=, or type=None", "choose it under Type, or none"),
        (r"name the column that holds the type with type=", "choose the column that holds the type under Type"),
        (r"remove type=", "choose none under Type"),
        (r"give time_unit='\w+' if they are (\w+)", r"choose \1 under Times are"),
        (r"give time_format='iso', or how times are written, such as time_format='.*'", "choose text under Times are"),
        (
            r"give time_format='iso', which takes a date as midnight of UTC",
            "choose text under Times are, for dates too",
        ),
        (r"give time_format(='iso')? instead", "choose text under Times are"),
        (r"give time_unit for numbers since 1970, or such as time_format='.*", "choose a unit under Times are"),
        (r"give another time_unit", "choose another unit under Times are"),
        (r"leave time_(unit|format) out", "choose another reading under Times are"),
        (r"time_unit is for numbers", "units are for numbers"),
        (r"time_format is for text", "text was chosen under Times are"),
        (r" the time_format; ", " the format chosen under Times are; "),
        (r"; max_trends is ", "; a page gets at most "),
        (r", and max_trends= allows more", ""),
        (r", unless order_by= names a column that orders them", ""),
        (
            r"read the file: trendweave\.query\(Path\(.*",
            "write the query itself; .tw files of the served folder stand beside the examples",
        ),
        (r"; max_trends= allows a hundred times as many to be looked at", ""),
    )
)
#: A column that is chosen in a field of the page.
_MISSING = re.compile(r"there is no (?P<role>time|type) column ")


def in_own_words(problem: Problem) -> Problem:
    """The same problem; what it says of arguments, it says of fields."""
    missing = _MISSING.match(problem.message)
    if problem.code == "TW302" and missing and problem.hint.startswith("did you mean "):
        return replace(problem, hint=f"{problem.hint} Choose it under {missing['role'].title()}")
    return replace(problem, message=translate(problem.message), hint=translate(problem.hint))


def translate(text: str) -> str:
    """A message in which fields of the page stand for arguments of Python.

    >>> translate("give time_unit='ms' if they are milliseconds")
    'choose milliseconds under Times are'
    """
    for said, instead in _WORDS:
        text = said.sub(instead, text)
    return text
