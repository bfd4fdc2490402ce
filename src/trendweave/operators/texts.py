"""Operators and their windows as text: how windows are read, and texts that `pipe` reads again."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence

from trendweave.errors import PlanningError, Problem
from trendweave.language import syntax_tree as st
from trendweave.language.durations import duration_text, read_duration
from trendweave.language.printer import print_expression, print_name, reserve
from trendweave.planning.operator_plans import RowCount, TimeSpan, Window

_ROWS = re.compile(r"\s*(\d+)\s+(?:rows?|events?)\s*", re.I)
_PARTS_OF_ROWS = re.compile(r"\d\.\d*\s*(?:rows?|events?)\b", re.I)
_SLIDE = re.compile(r"\bslide\b", re.I)
#: More events of a window than any machine holds.
_MOST_ROWS = 2**40


def read_window(text: object, what: str) -> Window:
    """A window such as `10 seconds`, `100 rows`, or one of these with `slide` and how far it moves.

    Args:
        text: As it was written.
        what: Which window it is, for messages.

    Raises:
        LanguageError: It cannot be read.
        PlanningError: Its parts do not go together.
    """
    if text is None:
        message = f"a join has a window over each side, and the one over its {what} side is missing"
        raise PlanningError([Problem("TW281", message, f'give {what}="10 seconds" or {what}="100 rows"')])
    if not isinstance(text, str):
        message = f"{what} is a text such as '10 seconds' or '100 rows', not {type(text).__name__}"
        raise PlanningError([Problem("TW281", message, "write the length of the window")])
    length, *slides = _SLIDE.split(text)
    if len(slides) > 1:
        raise PlanningError([Problem("TW281", f"{what} has two slides", "keep one of them")])
    if _PARTS_OF_ROWS.search(text):
        raise PlanningError([Problem("TW281", f"{what}: rows are whole", "write a whole number of them")])
    counted = [_ROWS.fullmatch(part) for part in (length, *slides)]
    if all(counted):
        numbers = [check_rows(int(found[1]), what) for found in counted if found]
        return RowCount(*numbers)
    if any(counted):
        message = f"{what} and its slide are of two kinds"
        raise PlanningError([Problem("TW281", message, "write both in rows, or both as durations")])
    return time_span(*(read_duration(part, what) for part in (length, *slides)))


def check_rows(number: object, what: str) -> int:
    """A number of events, at least one."""
    try:
        found = 0 if isinstance(number, bool) else operator.index(number)  # type: ignore[arg-type]
    except TypeError:
        found = 0
    if not 1 <= found <= _MOST_ROWS:
        message = f"{what} is a whole number of events from 1 to {_MOST_ROWS:,}, not {number!r}"
        raise PlanningError([Problem("TW281", message, "write for example rows=100")])
    return found


def time_span(length: int, slide: int | None = None) -> TimeSpan:
    """A window of time, whose slide is not longer than itself."""
    if slide is not None and slide > length:
        message = f"the slide of {duration_text(slide)} is longer than the window of {duration_text(length)}"
        raise PlanningError([Problem("TW220", message, "some events would be in no window")])
    return TimeSpan(length, slide)


def choose_window(within: str | None, slide: str | None, rows: int | None, slide_rows: int | None) -> Window:
    """The window of an aggregate: of time or of events, side by side unless a slide is given.

    Raises:
        LanguageError: A length cannot be read.
        PlanningError: There is no window, or there are two.
    """
    if (within is None) == (rows is None):
        message = "an aggregate has one window: a duration or a number of events"
        raise PlanningError([Problem("TW281", message, 'give within="10 seconds" or rows=100')])
    if within is not None:
        if slide_rows is not None:
            raise PlanningError([Problem("TW281", "slide_rows is for windows of rows", "write slide=")])
        length = read_duration(within, "within")
        return time_span(length, length if slide is None else read_duration(slide, "slide"))
    if slide is not None:
        raise PlanningError([Problem("TW281", "slide is for windows of time", "write slide_rows=")])
    number = check_rows(rows, "rows")
    return RowCount(number, number if slide_rows is None else check_rows(slide_rows, "slide_rows"))


def window_text(window: Window, usual: int | None) -> str:
    """A window as it is read again; `usual` is the slide that it has without saying so."""
    match window:
        case TimeSpan(length=length, slide=slide):
            told = "" if slide in (None, usual) else f" SLIDE {duration_text(slide or 0)}"
            return duration_text(length) + told
        case RowCount(rows=rows, slide=slide):
            return f"{rows} {_rows(rows)}" + ("" if slide == usual else f" SLIDE {slide} {_rows(slide)}")


def _rows(number: int) -> str:
    return "ROW" if number == 1 else "ROWS"


#: Words of operators that a name could be taken for.
_WORDS = ("OVER", "BY", "FILTER", "AGGREGATE", "JOIN", "MATCH")
_QUOTED = re.compile(r"'(?:[^']|'')*'|`(?:[^`]|``)*`")


def filter_text(condition: st.Expression) -> str:
    """`FILTER price > 10`."""
    with reserve(*_WORDS):
        return f"FILTER {print_expression(condition)}"


def aggregate_text(outputs: Sequence[st.Output], window: Window, keys: Sequence[str], order_by: Sequence[str]) -> str:
    """`AGGREGATE AVG(price) AS mean OVER 100 ROWS SLIDE 10 ROWS BY company`."""
    usual = window.length if isinstance(window, TimeSpan) else window.rows
    with reserve(*_WORDS):
        told = [
            print_expression(output.value) + ("" if output.alias is None else f" AS {print_name(output.alias)}")
            for output in outputs
        ]
        return f"AGGREGATE {', '.join(told)} OVER {window_text(window, usual)}" + _tail(keys, order_by)


def join_text(
    condition: st.Expression | None, left: Window, right: Window, keys: Sequence[str], order_by: Sequence[str]
) -> str:
    """`JOIN left.x < right.x LEFT 10 seconds RIGHT 100 ROWS BY machine`."""
    with reserve(*_WORDS):
        told = "" if condition is None else f" {print_expression(condition)}"
        windows = [window_text(window, 1 if isinstance(window, RowCount) else None) for window in (left, right)]
        return f"JOIN{told} LEFT {windows[0]} RIGHT {windows[1]}" + _tail(keys, order_by)


def match_text(query: str) -> str:
    """`MATCH RETURN ...`, on one line where no text in it has several."""
    if not any("\n" in quoted for quoted in _QUOTED.findall(query)):
        query = query.replace("\n", " ")
    return f"MATCH {query}"


def _tail(keys: Sequence[str], order_by: Sequence[str]) -> str:
    by = "" if not keys else f" BY {', '.join(map(print_name, keys))}"
    return by + ("" if not order_by else f" ORDER BY {', '.join(map(print_name, order_by))}")
