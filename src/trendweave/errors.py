"""One hierarchy of errors, by the stage that found the problem.

An error carries every problem that was found, not only the first: each has a stable code, a message, a hint
and, where it comes from query text, the place in that text.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

__all__ = [
    "CODES",
    "ArgumentError",
    "DataError",
    "ExecutionError",
    "LanguageError",
    "OptionError",
    "PlanningError",
    "Problem",
    "TrendweaveError",
    "UnknownNameError",
    "near_names",
    "raise_problems",
    "raise_together",
    "tell_once",
]

#: Every code with its meaning in a few words. A code is never reused for something else.
CODES: dict[str, str] = {
    # language: the text cannot be read
    "TW101": "syntax error",
    "TW102": "query text is too long",
    "TW103": "query is nested too deeply",
    "TW104": "clause is missing",
    "TW105": "clause is given twice",
    "TW106": "unknown time unit",
    "TW107": "duration is zero, negative or too fine",
    "TW108": "unknown function",
    "TW109": "wrong number of arguments",
    "TW110": "unknown aggregate, or one of a single trend over all trends",
    "TW111": "unknown event selection strategy",
    "TW112": "minimum of a quantifier is larger than its maximum",
    "TW113": "literal is not valid",
    "TW114": "unknown type in CAST",
    "TW115": "clauses exclude each other",
    "TW116": "argument of a builder or of trendweave.query has a wrong type",
    "TW121": "operator of a pipe is unknown or incomplete",
    "TW151": "unknown relation between situations",
    "TW152": "lower limit of BETWEEN is larger than the upper one",
    "TW171": "workload cannot be read",
    "TW172": "name of a rule is not valid, or used twice",
    "TW173": "workload has no query of this name",
    # planning: the query can be read, but it has no meaning or no plan
    "TW201": "unknown variable",
    "TW202": "variable is used for two event types",
    "TW203": "attribute without a variable",
    "TW204": "NOT is not allowed here",
    "TW205": "negated pattern begins or ends with NOT",
    "TW206": "pattern matches the empty sequence",
    "TW207": "pattern cannot match anything",
    "TW208": "pattern has too many states",
    "TW209": "negations cannot be told apart",
    "TW210": "AND is not allowed here",
    "TW211": "conjunction supports only COUNT(*)",
    "TW212": "aggregate over a negated variable",
    "TW213": "aggregate has the wrong kind of argument",
    "TW214": "two output columns have the same name",
    "TW215": "output is not a grouping attribute",
    "TW216": "predicate between variables that never occur in one trend, or never in that order",
    "TW217": "predicate between several variables that never occur in one trend",
    "TW218": "NEXT is combined with a variable that never comes directly before",
    "TW219": "equivalence inside OR or NOT",
    "TW220": "SLIDE is larger than WITHIN",
    "TW221": "SLIDE without WITHIN",
    "TW222": "predicate names no variable",
    "TW223": "semantics and keys cannot be combined",
    "TW224": "LIMIT, LONGEST or SAMPLE is not allowed here",
    "TW230": "trailing NOT with aggregates and WITHIN alone",
    "TW231": "complete trends of which only some begin or end with NOT",
    "TW232": "LIMIT, LONGEST or SAMPLE of trends that become final at different times",
    "TW233": "SLIDE with SESSION",
    "TW234": "LIMIT per session, but rows do not identify the session",
    "TW235": "condition on a whole match, but trends are only aggregated",
    "TW236": "output is not available with WITHIN alone",
    "TW237": "AFTER MATCH or PER START with skip-till-any-match",
    "TW238": "LENGTH, but trends are not listed one by one",
    "TW239": "NEXT in a condition on a whole match",
    "TW251": "unknown situation",
    "TW252": "situation is defined twice",
    "TW253": "situation has no condition, or one that is not allowed",
    "TW254": "PREV is not allowed here",
    "TW255": "query has too many situations",
    "TW256": "clauses of an interval query cannot be combined",
    "TW257": "situation is related to itself",
    "TW258": "constraints on a pair of situations exclude each other",
    "TW259": "constraints can never hold together",
    "TW260": "argument of a function must be a literal",
    "TW261": "regular expression means different things to different engines",
    "TW262": "HAVING or ORDER BY is not allowed here",
    "TW271": "queries cannot be in one workload",
    "TW281": "window of an operator is missing, or defined twice",
    "TW282": "operator does not accept this argument",
    # data: the query does not fit the table
    "TW301": "unknown column",
    "TW302": "time or type column is missing",
    "TW303": "time or type column has a wrong type",
    "TW304": "aggregate of a column that is not a number",
    "TW305": "types cannot be compared",
    "TW306": "operation does not fit the type",
    "TW307": "column cannot be a key",
    "TW308": "schema or table cannot be read",
    "TW309": "window is finer than the time column",
    "TW310": "time or value is out of range",
    "TW311": "state cannot be read, or belongs to another query",
    "TW312": "batch of events or watermark does not fit the stream",
    "TW313": "name of an attribute is reserved",
    "TW314": "queries of a workload give the same column different types",
    "TW315": "query of a workload has a column named query",
    "TW316": "result of an operator lacks the time column of the next one",
    "TW317": "sides of a join cannot be told apart",
    "TW331": "stored events cannot be read",
    "TW332": "column of stored events has several types",
    "TW333": "store exists already, or does not exist",
    # execution: the query fits, but it cannot be carried out on these rows
    "TW401": "predicate on two events has too many pairs of values",
    "TW402": "number does not fit the type of the result",
    "TW403": "exact numbers need too much memory",
    "TW404": "result is not supported yet",
    "TW405": "one key has too many events for a task",
    "TW406": "events would be copied too often, for keys of one variable or for windows computed one by one",
    "TW407": "time chunks are too short",
    "TW408": "option or setting is not valid",
    "TW409": "query cannot run on a stream",
    "TW410": "stream has no watermark",
    "TW411": "state store of the session does not support the state",
    "TW412": "too many trends to list",
    "TW413": "trends need more memory than allowed",
    "TW414": "option does not fit the query",
    "TW415": "condition on earlier events would be tested for too many pairs",
    "TW416": "device is not available",
    "TW422": "not supported on a GPU",
    "TW423": "not enough GPU memory",
    "TW424": "Spark is too old, or the Python of its workers differs, lacks packages or has another Trendweave",
    "TW431": "another writer is changing the store",
    "TW432": "aggregates of a store have too many windows",
    "TW451": "pattern over intervals has too many matches",
    "TW452": "interval query needs WITHIN to run piece by piece",
    "TW490": "parameter has no value",
    "TW491": "value of a parameter cannot stand in the query",
    "TW492": "there is no such parameter",
    "TW480": "pattern has too many states for the events",
    "TW481": "windows would make too many rows",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem: what is wrong, where, and a hint.

    Attributes:
        code: A stable code, such as "TW301"; `CODES` has their meanings.
        message: What is wrong.
        hint: What to do; empty if there is no hint.
        line: The line of the query text, counted from 1; None if the problem has no position in it.
        column: The column of that line, counted from 1.
        length: The number of characters concerned.
        query: The name of the query, if there are several; None for a single query.
        text: The text of that query.
    """

    code: str
    message: str
    hint: str = ""
    line: int | None = None
    column: int | None = None
    length: int = 1
    query: str | None = None
    text: str | None = None

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"{self.code} is not a known problem code")

    def render(self, source: str | None = None) -> str:
        """The problem as text.

        Args:
            source: The query text; with it, carets mark the position. Not needed if the problem has a text of its own.
        """
        source = source if self.text is None else self.text
        places = [] if self.query is None else [f"query {self.query}"]
        places += [] if self.line is None else [f"line {self.line}, column {self.column}"]
        place = f" ({', '.join(places)})" if places else ""
        parts = [f"{self.code}: {self.message}{place}"]
        if source is not None and self.line is not None and self.column is not None:
            parts.extend(_underline(source, self.line, self.column, self.length))
        if self.hint:
            parts.append(f"  hint: {self.hint}")
        return "\n".join(parts)


def _underline(source: str, line: int, column: int, length: int) -> list[str]:
    lines = source.split("\n")
    if not 1 <= line <= len(lines):
        return []
    text = lines[line - 1].rstrip("\r")
    # A very long line is cut around the place, so that the caret stays in sight.
    first = max(0, column - 1 - 60) if len(text) > 110 else 0
    shown = text[first : first + 110].replace("\t", " ")
    start = column - 1 - first
    marked = measure_width(shown[start : start + length])
    return [f"    {shown}", "    " + " " * measure_width(shown[:start]) + "^" * max(1, marked)]


def measure_width(text: str) -> int:
    """How many columns of a terminal a text takes: two for wide characters of East Asia, none for combining ones."""
    return sum(_width(character) for character in text)


def _width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


class TrendweaveError(Exception):
    """Base class of all errors of this package.

    Attributes:
        problems: All problems, in the order of the query text.
        source: The query text, if there is one.
    """

    stage = "trendweave"

    def __init__(self, problems: Iterable[Problem], source: str | None = None) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        self.source = source
        super().__init__(self.problems, source)

    def about(self, query: str) -> Self:
        """The same error for one of several queries: every problem gets the name and the text of the query.

        Args:
            query: The name of the query. Problems that already have a name are not changed.
        """
        known = (
            problem if problem.query is not None else replace(problem, query=query, text=self.source)
            for problem in self.problems
        )
        return type(self)(known)

    def __str__(self) -> str:
        count = len(self.problems)
        head = f"{self.stage} error" if count == 1 else f"{count:,} problems"
        queries = {problem.query for problem in self.problems} - {None}
        if len(queries) > 1:
            head += f" in {len(queries):,} queries"
        return "\n".join([head, *(problem.render(self.source) for problem in self.problems)])


class LanguageError(TrendweaveError):
    """The query text cannot be parsed."""

    stage = "language"


class ArgumentError(LanguageError, TypeError):
    """An argument of a builder or of `trendweave.query` has a wrong Python type. Also a TypeError."""


class UnknownNameError(LanguageError, KeyError):
    """A workload has no query of this name. Also a KeyError."""


class PlanningError(TrendweaveError):
    """The query can be parsed, but it has no meaning or cannot be planned."""

    stage = "planning"


class DataError(TrendweaveError):
    """The query does not fit the data."""

    stage = "data"


class ExecutionError(TrendweaveError):
    """The query failed while it ran."""

    stage = "execution"


class OptionError(ExecutionError, ValueError, TypeError):
    """An option is unknown, has a wrong value, or does not fit the query.

    Also a ValueError and a TypeError.
    """


_STAGES: dict[str, type[TrendweaveError]] = {
    "1": LanguageError,
    "2": PlanningError,
    "3": DataError,
    "4": ExecutionError,
}


def raise_problems(problems: Sequence[Problem], source: str | None = None) -> None:
    """Raise all problems together, as the error of the earliest stage among them; do nothing when there are none.

    Args:
        problems: The problems, in any order.
        source: The query text, if there is one.

    Raises:
        TrendweaveError: There are problems.
    """
    if not problems:
        return
    ordered = sorted(problems, key=lambda problem: (problem.line or 0, problem.column or 0, problem.code))
    earliest = min(problem.code[2] for problem in problems)
    raise _STAGES[earliest](dict.fromkeys(ordered), source)


def raise_together(errors: Sequence[TrendweaveError]) -> None:
    """Raise all problems of several errors as one, of the earliest stage among them; do nothing when there are none.

    Args:
        errors: The errors, such as those of the queries of a workload; their problems are reported in this order.

    Raises:
        TrendweaveError: There are errors.
    """
    if not errors:
        return
    earliest = min(errors, key=lambda error: min(problem.code[2] for problem in error.problems))
    raise type(earliest)(problem for error in errors for problem in error.problems)


def tell_once(errors: Sequence[TrendweaveError], count: int) -> list[TrendweaveError]:
    """Errors of several queries, without repetition: a problem that all queries have (such as a missing time column) is
    reported once, without the name of a query.

    Args:
        errors: At most one error per query.
        count: The number of queries.
    """
    times = Counter(_without_name(problem) for error in errors for problem in error.problems if problem.line is None)
    of_all = {problem for problem, number in times.items() if number == count > 1}
    if not of_all:
        return list(errors)
    told: list[TrendweaveError] = [type(errors[0])(problem for problem in times if problem in of_all)]
    for error in errors:
        rest = [problem for problem in error.problems if _without_name(problem) not in of_all]
        told += [type(error)(rest)] if rest else []
    return told


def _without_name(problem: Problem) -> Problem:
    return replace(problem, query=None, text=None)


def near_names(name: str, known: Iterable[str]) -> str:
    """A hint such as ``did you mean price or prices?``, or an empty string.

    Args:
        name: The name that was not found.
        known: The names that exist.
    """
    choices: dict[str, str] = {}
    for candidate in known:
        choices.setdefault(candidate.lower(), candidate)
    close = difflib.get_close_matches(str(name).lower(), choices, n=3, cutoff=0.6)
    return f"did you mean {' or '.join(choices[match] for match in close)}?" if close else ""
