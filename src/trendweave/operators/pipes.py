"""Chains of operators from text: `FILTER price > 10 | AGGREGATE AVG(price) OVER 1 minute BY company`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from trendweave.errors import LanguageError, Problem, TrendweaveError, near_names
from trendweave.language.operator_texts import read_condition, read_outputs
from trendweave.language.syntax_errors import span_of
from trendweave.language.syntax_tree import Span, problem_at
from trendweave.operators.making import filter, make_aggregate, make_join, match
from trendweave.operators.operator import Chain, Operator
from trendweave.operators.texts import read_window
from trendweave.planning.operator_plans import TimeSpan, Window

_TOKEN = re.compile(r"""'(?:[^']|'')*'|"[^"]*"|`(?:[^`]|``)*`|--[^\n]*|/\*[\s\S]*?\*/|[^\W\d]\w*|\d[\w.]*|\S""")
_NAME = re.compile(r"\s*(?:([^\W\d]\w*)|`((?:[^`]|``)+)`)\s*")
#: Words before BY that keys have elsewhere.
_OF_SQL = ("GROUP", "PARTITION")
_OPEN, _CLOSED = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class _Part:
    """A stretch of the whole text: one operator, or a piece of one."""

    text: str
    start: int
    end: int

    def words(self) -> Iterator[tuple[str, int, int]]:
        """Tokens that are in no bracket, in capitals, with their places. What is quoted is none."""
        depth = 0
        for token in _TOKEN.finditer(self.text, self.start, self.end):
            depth += (token[0] in _OPEN) - (token[0] in _CLOSED)
            if depth == 0 and token[0][0] not in "'\"`":
                yield token[0].upper(), token.start(), token.end()

    def cut(self, start: int, end: int) -> _Part:
        return replace(self, start=start, end=end)

    @property
    def alone(self) -> str:
        """The stretch with blanks for all before it, so that places in it are those of the whole text."""
        return re.sub(r"[^\n]", " ", self.text[: self.start]) + self.text[self.start : self.end]

    @property
    def inner(self) -> str:
        return self.text[self.start : self.end]

    @property
    def is_empty(self) -> bool:
        return not self.inner.strip()

    @property
    def place(self) -> Span:
        """Where it stands, without blanks around it."""
        begin = self.start + len(self.inner) - len(self.inner.lstrip())
        end = self.start + len(self.inner.rstrip())
        return span_of(self.text, min(begin, len(self.text)), max(end, begin + 1))

    def problem(self, message: str, hint: str) -> LanguageError:
        """An error at this stretch."""
        return LanguageError([problem_at(self.place, "TW121", message, hint)], self.text)


def pipe(text: str) -> Chain | Operator:
    """Parse a chain of operators, separated by `|`.

    Args:
        text: Operators such as `FILTER condition`, `AGGREGATE aggregates OVER window BY keys ORDER BY columns`,
            `JOIN condition LEFT window RIGHT window BY keys ORDER BY columns` and `MATCH query`.

    Returns:
        The chain, or the operator if there is only one.

    Raises:
        LanguageError: The text cannot be parsed.
        PlanningError: An operator has no meaning.
    """
    if not isinstance(text, str):
        raise LanguageError([Problem("TW121", f"a pipe is a text, not {type(text).__name__}", "write it in quotes")])
    found = []
    for part in _split(_TOKEN.sub(_blank_comment, text)):
        try:
            found.append(_read(part))
        except TrendweaveError as error:
            raise type(error)(error.problems, text) from None
    return found[0] if len(found) == 1 else Chain(tuple(found))


def _blank_comment(token: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", token[0]) if token[0].startswith(("--", "/*")) else token[0]


def _split(text: str) -> list[_Part]:
    whole = _Part(text, 0, len(text))
    borders = [start for word, start, _ in whole.words() if word == "|"]
    starts = [0, *(border + 1 for border in borders)]
    return [_Part(text, start, end) for start, end in zip(starts, [*borders, len(text)], strict=True)]


def _read(part: _Part) -> Operator:
    first = next(part.words(), None)
    reader = None if first is None else _READERS.get(first[0])
    if first is None or reader is None:
        named = "" if first is None else part.text[first[1] : first[2]]
        known = "an operator is one of FILTER, AGGREGATE, JOIN and MATCH"
        message = f"unknown operator {named}" if named else "there is no operator here"
        raise part.problem(message, near_names(named.upper(), _READERS) or known)
    return reader(part.cut(first[2], part.end))


def _read_filter(part: _Part) -> Operator:
    if part.is_empty:
        raise part.problem("FILTER needs a condition", "write for example FILTER price > 10")
    return replace(filter(part.alone), source=part.text)


def _read_aggregate(part: _Part) -> Operator:
    over = [(start, end) for word, start, end in part.words() if word == "OVER"]
    if not over:
        raise part.problem("AGGREGATE needs a window", "write for example OVER 100 ROWS SLIDE 10 ROWS")
    start, end = over[-1]
    outputs = part.cut(part.start, start)
    if outputs.is_empty:
        message = "AGGREGATE needs aggregates before its window"
        raise part.cut(start, end).problem(message, "write for example AVG(price) AS mean OVER 3 ROWS")
    window, keys, order_by = _read_tail(part.cut(end, part.end))
    found = _read_window(window, "OVER")
    if not re.search(r"\bslide\b", window.inner, re.I):
        length = found.length if isinstance(found, TimeSpan) else found.rows
        found = replace(found, slide=length)
    return make_aggregate(read_outputs(outputs.alone), found, keys, order_by, part.text)


def _read_join(part: _Part) -> Operator:
    words = list(part.words())
    places: dict[str, tuple[int, int]] = {}
    for (word, start, end), (following, _, _) in pairwise(words):
        if word in ("LEFT", "RIGHT") and following[0].isdigit():
            places.setdefault(word, (start, end))
    missing = [side for side in ("LEFT", "RIGHT") if side not in places]
    if missing or places["LEFT"] > places["RIGHT"]:
        message = f"JOIN needs a window for {missing[0]}" if missing else "the window for LEFT comes first"
        raise part.problem(message, "write for example LEFT 10 seconds RIGHT 100 ROWS")
    condition = part.cut(part.start, places["LEFT"][0])
    right, keys, order_by = _read_tail(part.cut(places["RIGHT"][1], part.end))
    left = part.cut(places["LEFT"][1], places["RIGHT"][0])
    found = read_condition(condition.alone) if next(condition.words(), None) else None
    return make_join(found, _read_window(left, "LEFT"), _read_window(right, "RIGHT"), keys, order_by, part.text)


def _read_match(part: _Part) -> Operator:
    return replace(match(part.alone), source=part.text)


def _read_window(part: _Part, what: str) -> Window:
    """A window, whose problems are told at its place."""
    if part.is_empty:
        raise part.problem(f"{what} needs a window", f"write for example {what} 10 seconds, or {what} 100 ROWS")
    try:
        return read_window(part.inner.strip(), what)
    except TrendweaveError as error:
        placed = [problem_at(part.place, one.code, one.message, one.hint) for one in error.problems]
        raise type(error)(placed, part.text) from None


def _read_tail(part: _Part) -> tuple[_Part, tuple[str, ...], tuple[str, ...]]:
    """A window, and the names behind BY and ORDER BY."""
    words = list(part.words())
    by = order = None
    for number, (word, start, end) in enumerate(words):
        before = words[number - 1] if number else ("", 0, 0)
        if word == "BY" and before[0] == "ORDER" and order is None:
            order = (before[1], end)
        elif word == "BY" and before[0] in _OF_SQL:
            names = part.cut(end, next((at for other, at, _ in words[number + 1 :] if other == "ORDER"), part.end))
            raise part.cut(before[1], end).problem(f"there is no {before[0]} BY", f"write BY {names.inner.strip()}")
        elif word == "BY" and by is None and order is None:
            by = (start, end)
    window_end = min((place[0] for place in (by, order) if place is not None), default=part.end)
    keys = () if by is None else _read_names(part.cut(by[1], part.end if order is None else order[0]))
    return (
        part.cut(part.start, window_end),
        keys,
        () if order is None else _read_names(part.cut(order[1], part.end)),
    )


def _read_names(part: _Part) -> tuple[str, ...]:
    names, place = [], part.start
    while True:
        found = _NAME.match(part.text, place, part.end)
        if found is None:
            raise part.problem("these are no names of columns", "write them with commas between them")
        names.append(found[1] or found[2].replace("``", "`"))
        place = found.end()
        if place >= part.end:
            return tuple(dict.fromkeys(names))
        if part.text[place] != ",":
            raise part.cut(place, part.end).problem("there is more than names of columns here", "what stands here?")
        place += 1


_READERS: dict[str, Callable[[_Part], Operator]] = {
    "FILTER": _read_filter,
    "AGGREGATE": _read_aggregate,
    "JOIN": _read_join,
    "MATCH": _read_match,
}
