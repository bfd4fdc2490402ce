"""What is wrong with a text that the grammar does not know, and what could stand there instead."""

from __future__ import annotations

import re

from lark import Token, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from trendweave.errors import Problem, near_names
from trendweave.language.outline import QueryKind, find_foreign_clause
from trendweave.language.sql_habits import CLAUSES, find_habit
from trendweave.language.syntax_tree import Span, problem_at

#: How a reader would call what the grammar expects; terminals that are not listed are called by their text.
_TERMINALS = {
    "NAME": "a name",
    "QUOTED_NAME": "a name",
    "INTEGER": "a number",
    "DECIMAL": "a number",
    "STRING": "a quoted string",
    "PARAMETER": "a parameter such as $limit",
    "COMPARE": "a comparison",
    "GROUP_BY": "GROUP-BY",
    "STRATEGY": "a strategy such as skip-till-next-match",
    "RELATION": "a relation such as before",
    "PARTITION_BY": "PARTITION BY",
    "AT_END": "AT END",
    "STAR": "*",
    "PLUS": "+",
    "MINUS": "-",
    "SLASH": "/",
    "PERCENT": "%",
    "QUESTION": "?",
    "BANG": "!",
    "LPAR": "(",
    "RPAR": ")",
    "LSQB": "[",
    "RSQB": "]",
    "_BRACKETS": "[]",
    "LBRACE": "{",
    "RBRACE": "}",
    "COMMA": ",",
    "DOT": ".",
    "SEMICOLON": ";",
    "$END": "the end of the query",
}
#: Shown first when many things could come next.
_TELLING = ("a name", "a number", *CLAUSES, ")", "]", "}", ",")


def span_of(text: str, start: int, end: int) -> Span:
    """The place of some characters of a text."""
    line_start = text.rfind("\n", 0, start) + 1
    return Span(start, end, text.count("\n", 0, start) + 1, start - line_start + 1)


def describe_syntax_error(error: UnexpectedInput, text: str, kind: QueryKind) -> Problem:
    """The problem that a reader sees, with a near keyword or what was expected as the hint."""
    foreign = find_foreign_clause(text, kind)
    if foreign is not None and foreign.start <= (error.pos_in_stream or len(text)):
        span = span_of(text, foreign.start, foreign.start + len(foreign.keyword))
        hint = "conditions belong into DEFINE" if foreign.keyword == "WHERE" else f"leave {foreign.keyword} out"
        return problem_at(span, "TW101", f"an interval query has no {foreign.keyword}", hint)
    habit = find_habit(text, kind, error.pos_in_stream if error.pos_in_stream is not None else len(text))
    if habit is not None:
        return problem_at(span_of(text, habit.start, habit.end), "TW101", habit.message, habit.hint)
    expected: set[str] = set()
    if isinstance(error, UnexpectedToken) and error.token.type != "$END":
        token: Token = error.token
        start = token.start_pos if token.start_pos is not None else len(text)
        span = span_of(text, start, start + max(1, len(token)))
        message = f"did not expect {_shown(str(token))} here"
        expected = set(error.accepts or error.expected)
        near = _near_keyword(str(token), expected) or _near_keyword_before(text, start, expected)
        near = near or _text_without_quotes(token, text[:start])
    elif isinstance(error, UnexpectedCharacters):
        start = error.pos_in_stream or 0
        span = span_of(text, start, start + 1)
        character = text[start]
        word = re.match(r"\w+", text[start:])
        expected = set(error.allowed or ())
        near = _near_keyword(word[0], expected) if word else ""
        message = f"did not expect {_shown(word[0] if word else character)} here"
        if character in "'\"`":
            message, near = f"the quote {character} is never closed", f"close it with another {character}"
    else:
        end = len(text.rstrip())
        span = span_of(text, end, end + 1)
        message, near = "the query ends too early", ""
        expected = set(error.accepts or error.expected) if isinstance(error, UnexpectedToken) else set()
    return problem_at(span, "TW101", message, near or _expectation(expected))


def _near_keyword(word: str, expected: set[str]) -> str:
    keywords = {_TERMINALS.get(name, name) for name in expected if name.isupper()} - {word.upper()}
    # York is no OR: a keyword that was meant is about as long.
    alike = (keyword for keyword in keywords if keyword.isupper() and abs(len(keyword) - len(word)) <= len(word) // 3)
    return near_names(word, alike) if len(word) > 2 else ""


def _near_keyword_before(text: str, start: int, expected: set[str]) -> str:
    """A misspelt keyword may have been read as a name, and only what follows it looks wrong: `A WITHNI 5 minutes`."""
    word = re.search(r"(\w+)\s*$", text[:start])
    return _near_keyword(word[1], expected) if word else ""


def _text_without_quotes(token: Token, before: str) -> str:
    """Two words behind a comparison are a text: `WHERE A.city = New York`."""
    word = re.search(r"[=<>]\s*([^\W\d]\w*)\s+$", before)
    return f"put a text in quotes: '{word[1]} {token}'" if word and token.type == "NAME" else ""


def _shown(token: str) -> str:
    return token if len(token) <= 40 else token[:37] + "..."


def _expectation(expected: set[str]) -> str:
    names = {_TERMINALS.get(name, name) for name in expected}
    ordered = [name for name in _TELLING if name in names] + sorted(names - set(_TELLING))
    if not ordered:
        return ""
    if len(ordered) > 6:
        return f"expected {' or '.join(ordered[:6])}, among others"
    return f"expected {' or '.join(ordered)}"
