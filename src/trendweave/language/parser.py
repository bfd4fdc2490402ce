"""Query text -> syntax tree.

No step recurses over the text, so its nesting can exhaust nothing. A syntax error ends the parse; whatever else is
wrong (an unknown unit, a clause given twice) is collected, so that it can be reported together with what the planner
finds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

from lark import Lark, Token, UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.exceptions import VisitError

from trendweave.errors import LanguageError, Problem, near_names
from trendweave.language.interval_tree import IntervalTree
from trendweave.language.interval_tree_builder import IntervalTreeBuilder
from trendweave.language.outline import QueryKind, find_foreign_clause, tell_kind
from trendweave.language.situated_tree import SituatedTree, Tree
from trendweave.language.syntax_tree import MAX_DEPTH, QueryTree, Span, problem_at, too_deep
from trendweave.language.tree_builder import Clause, TreeBuilder

MAX_TEXT_BYTES = 100_000
CLAUSES = ("RETURN", "PATTERN", "SEMANTICS", "WHERE", "GROUP-BY", "WITHIN", "SLIDE", "LIMIT", "LONGEST", "SAMPLE")
CHOICES = ("LIMIT", "LONGEST", "SAMPLE")


def parse(text: str, kind: QueryKind | None = None) -> tuple[Tree, list[Problem]]:
    """Read the text of a query.

    Args:
        text: The query, of any kind.
        kind: The kind that it is; without it the clauses tell.

    Returns:
        The tree, and the problems that did not keep the text from being read.

    Raises:
        LanguageError: The text cannot be read.
    """
    _check_size(text)
    _check_brackets(text)
    if kind is None:
        try:
            return _read(text, "trends")
        except UnexpectedInput as error:
            kind = tell_kind(text)
            if kind == "trends":
                raise LanguageError([_syntax_problem(error, text, kind)], text) from None
    try:
        return _read(text, kind)
    except UnexpectedInput as error:
        raise LanguageError([_syntax_problem(error, text, kind)], text) from None


def _read(text: str, kind: QueryKind) -> tuple[Tree, list[Problem]]:
    """Raises Lark's UnexpectedInput where the grammar of the kind does not know the text."""
    parsed = _grammar(kind).parse(text)
    make_builder, assemble = _ASSEMBLED[kind]
    builder = make_builder()
    try:
        clauses: list[Clause] = builder.transform(parsed)
    except VisitError as error:
        if isinstance(error.orig_exc, LanguageError):
            raise LanguageError(error.orig_exc.problems, text) from None
        raise
    if any(problem.code == "TW101" for problem in builder.problems):
        raise LanguageError(builder.problems, text)
    return assemble(clauses, text, builder.problems), builder.problems


def _check_size(text: str) -> None:
    size = len(text.encode("utf-8", errors="surrogatepass"))
    if size > MAX_TEXT_BYTES:
        message = f"the query text has {size:,} bytes; at most {MAX_TEXT_BYTES:,} are read"
        raise LanguageError([Problem("TW102", message, "shorten it; long lists of values belong into a column")])


#: The start of each kind, and the files that its rules are in: all kinds share conditions, outputs, lengths and names.
_STARTS: dict[QueryKind, tuple[str, tuple[str, ...]]] = {
    "trends": ("trend_query", ("grammar",)),
    "intervals": ("interval_query", ("grammar", "intervals")),
    "trends in situations": ("situated_query", ("grammar", "intervals", "situated")),
}


@cache
def _grammar(kind: QueryKind) -> Lark:
    start, names = _STARTS[kind]
    room = files("trendweave.language")
    rules = "\n".join(room.joinpath(f"{name}.lark").read_text(encoding="utf-8") for name in names)
    return Lark(rules, parser="lalr", start=start, propagate_positions=True)


_BRACKETS_AND_QUOTED = re.compile(r"""'[^']*'|"[^"]*"|`[^`]*`|--[^\n]*|/\*[\s\S]*?\*/|[()]""")


def _check_brackets(text: str) -> None:
    """Refuse parentheses nested beyond the limit before any work is put into them."""
    level = 0
    for match in _BRACKETS_AND_QUOTED.finditer(text):
        level += {"(": 1, ")": -1}.get(match[0], 0)
        if level > MAX_DEPTH:
            raise LanguageError([too_deep(_span(text, match.start(), match.end()))], text)


def _span(text: str, start: int, end: int) -> Span:
    line_start = text.rfind("\n", 0, start) + 1
    return Span(start, end, text.count("\n", 0, start) + 1, start - line_start + 1)


def _each_once(clauses: list[Clause], problems: list[Problem]) -> dict[str, Any]:
    """What each clause says, by keyword. A clause given twice counts once, and is a problem."""
    given: dict[str, Any] = {}
    for keyword, value, span in clauses:
        if keyword in given:
            problems.append(problem_at(span, "TW105", f"{keyword} is given twice", f"join both into one {keyword}"))
        given.setdefault(keyword, value)
    return given


def _assemble_trends(clauses: list[Clause], text: str, problems: list[Problem]) -> Tree:
    return _trend_tree(_each_once(clauses, problems), text, problems)


def _trend_tree(given: dict[str, Any], text: str, problems: list[Problem]) -> QueryTree:
    choices = [given[keyword] for keyword in CHOICES if keyword in given]
    if len(choices) > 1:
        named = " and ".join(keyword for keyword in CHOICES if keyword in given)
        hint = "keep one of them: each says which trends of a window and group are shown"
        problems.append(problem_at(choices[1].span, "TW115", f"{named} cannot be combined", hint))
    if "PATTERN" not in given:
        hint = "say what to look for, for example PATTERN Stock S+"
        problem = problem_at(_span(text, 0, 1), "TW104", "the query has no PATTERN", hint)
        raise LanguageError([*problems, problem], text)
    return QueryTree(
        pattern=given["PATTERN"],
        returns=given.get("RETURN"),
        where=given.get("WHERE", ()),
        group_by=given.get("GROUP-BY", ()),
        strategy=given.get("SEMANTICS"),
        within=given.get("WITHIN"),
        slide=given.get("SLIDE"),
        choice=choices[0] if choices else None,
        span=_span(text, 0, len(text)),
    )


def _assemble_intervals(clauses: list[Clause], text: str, problems: list[Problem]) -> Tree:
    given = _each_once(clauses, problems)
    return IntervalTree(
        source=given.get("FROM"),
        partition_by=given.get("PARTITION BY", ()),
        situations=given.get("DEFINE", ()),
        pattern=given.get("PATTERN", ()),
        within=given.get("WITHIN"),
        detect_at_end=given.get("DETECT", False),
        returns=given.get("RETURN"),
        every=given.get("EVERY"),
        span=Span(0, 1, 1, 1),
    )


def _assemble_situated(clauses: list[Clause], text: str, problems: list[Problem]) -> Tree:
    given = _each_once(clauses, problems)
    trend = _trend_tree(given, text, problems)
    return SituatedTree(trend, given.get("DEFINE", ()), given.get("FROM"), span=trend.span)


#: Who builds the clauses of each kind, and who puts them together.
_ASSEMBLED: dict[QueryKind, tuple[Callable[[], TreeBuilder], Callable[[list[Clause], str, list[Problem]], Tree]]] = {
    "trends": (TreeBuilder, _assemble_trends),
    "intervals": (IntervalTreeBuilder, _assemble_intervals),
    "trends in situations": (IntervalTreeBuilder, _assemble_situated),
}


#: How a reader would call what the grammar expects; terminals that are not listed are called by their text.
_TERMINALS = {
    "NAME": "a name",
    "QUOTED_NAME": "a name",
    "INTEGER": "a number",
    "DECIMAL": "a number",
    "STRING": "a quoted string",
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


def _syntax_problem(error: UnexpectedInput, text: str, kind: QueryKind) -> Problem:
    foreign = find_foreign_clause(text, kind)
    if foreign is not None and foreign.start <= (error.pos_in_stream or len(text)):
        span = _span(text, foreign.start, foreign.start + len(foreign.keyword))
        hint = "conditions belong into DEFINE" if foreign.keyword == "WHERE" else f"leave {foreign.keyword} out"
        return problem_at(span, "TW101", f"an interval query has no {foreign.keyword}", hint)
    expected: set[str] = set()
    if isinstance(error, UnexpectedToken) and error.token.type != "$END":
        token: Token = error.token
        start = token.start_pos if token.start_pos is not None else len(text)
        span = _span(text, start, start + max(1, len(token)))
        message = f"did not expect {_shown(str(token))} here"
        expected = set(error.accepts or error.expected)
        near = _near_keyword(str(token), expected) or _near_keyword_before(text, start, expected)
    elif isinstance(error, UnexpectedCharacters):
        start = error.pos_in_stream or 0
        span = _span(text, start, start + 1)
        character = text[start]
        word = re.match(r"\w+", text[start:])
        expected = set(error.allowed or ())
        near = _near_keyword(word[0], expected) if word else ""
        message = f"did not expect {_shown(word[0] if word else character)} here"
        if character in "'\"`":
            message, near = f"the quote {character} is never closed", f"close it with another {character}"
    else:
        end = len(text.rstrip())
        span = _span(text, end, end + 1)
        message, near = "the query ends too early", ""
        expected = set(error.accepts or error.expected) if isinstance(error, UnexpectedToken) else set()
    return problem_at(span, "TW101", message, near or _expectation(expected))


def _near_keyword(word: str, expected: set[str]) -> str:
    keywords = {_TERMINALS.get(name, name) for name in expected if name.isupper()}
    return near_names(word, (keyword for keyword in keywords if keyword.isupper())) if len(word) > 2 else ""


def _near_keyword_before(text: str, start: int, expected: set[str]) -> str:
    """A misspelt keyword may have been read as a name, and only what follows it looks wrong: `A WITHNI 5 minutes`."""
    word = re.search(r"(\w+)\s*$", text[:start])
    return _near_keyword(word[1], expected) if word else ""


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
