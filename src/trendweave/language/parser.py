"""Query text -> syntax tree.

No step recurses over the text, so its nesting can exhaust nothing. A syntax error ends the parse; whatever else is
wrong (an unknown unit, a clause given twice) is collected, so that it can be reported together with what the planner
finds.
"""

from __future__ import annotations

import hashlib
import io
import re
import sys
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

import lark
from lark import Lark, UnexpectedInput
from lark.exceptions import VisitError

from trendweave.errors import LanguageError, Problem
from trendweave.kernel_cache.files import read_kept, write_kept
from trendweave.language.interval_tree import IntervalTree, SituatedTree, Tree
from trendweave.language.interval_tree_builder import IntervalTreeBuilder
from trendweave.language.outline import QueryKind, tell_kind
from trendweave.language.syntax_errors import describe_syntax_error, span_of
from trendweave.language.syntax_tree import MAX_DEPTH, QueryTree, Span, problem_at, too_deep
from trendweave.language.tree_builder import Clause, TreeBuilder

MAX_TEXT_BYTES = 100_000
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
    check_text(text)
    if kind is None:
        try:
            return _read(text, "trends")
        except UnexpectedInput as error:
            kind = tell_kind(text)
            if kind == "trends":
                raise LanguageError([describe_syntax_error(error, text, kind)], text) from None
    try:
        return _read(text, kind)
    except UnexpectedInput as error:
        raise LanguageError([describe_syntax_error(error, text, kind)], text) from None


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
        raise error.orig_exc from None  # of a signal's handler, too
    if any(problem.code == "TW101" for problem in builder.problems):
        raise LanguageError(builder.problems, text)
    return assemble(clauses, text, builder.problems), builder.problems


def check_text(text: str) -> None:
    """Refuse a text that is too long, or nested too deeply, before any work is put into it."""
    _check_size(text)
    _check_brackets(text)


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
    return _load_parser(rules, start)


def _load_parser(rules: str, start: str) -> Lark:
    """The parser of a grammar; its tables, which take a tenth of a second to make, are kept beside compiled kernels."""
    made_of = repr((rules, start, lark.__version__, sys.version_info[:2]))
    name = f"{start}-{hashlib.sha256(made_of.encode()).hexdigest()[:24]}.tables"
    tables = read_kept(name)
    if tables is not None:
        try:
            return Lark.load(io.BytesIO(tables))
        except Exception:  # tables that cannot be read are made anew
            pass
    parser = Lark(rules, parser="lalr", start=start, propagate_positions=True)
    written = io.BytesIO()
    parser.save(written)
    write_kept(name, written.getvalue())
    return parser


_BRACKETS_AND_QUOTED = re.compile(r"""'[^']*'|"[^"]*"|`[^`]*`|--[^\n]*|/\*[\s\S]*?\*/|[()]""")


def _check_brackets(text: str) -> None:
    """Refuse parentheses nested beyond the limit before any work is put into them."""
    level = 0
    for match in _BRACKETS_AND_QUOTED.finditer(text):
        level += {"(": 1, ")": -1}.get(match[0], 0)
        if level > MAX_DEPTH:
            raise LanguageError([too_deep(span_of(text, match.start(), match.end()))], text)


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
        hint = "keep one of them: each selects trends of a window and group"
        problems.append(problem_at(choices[1].span, "TW115", f"{named} cannot be combined", hint))
    if "PATTERN" not in given:
        hint = "say what to look for, for example PATTERN Stock S+"
        problem = problem_at(span_of(text, 0, 1), "TW104", "the query has no PATTERN", hint)
        raise LanguageError([*problems, problem], text)
    within, session = given.get("WITHIN", (None, False))
    return QueryTree(
        pattern=given["PATTERN"],
        returns=given.get("RETURN"),
        where=given.get("WHERE", ()),
        group_by=given.get("GROUP-BY", ()),
        strategy=given.get("SEMANTICS"),
        within=within,
        slide=given.get("SLIDE"),
        choice=choices[0] if choices else None,
        session=session,
        after_match=given.get("AFTER MATCH"),
        per_start=given.get("PER START"),
        having=given.get("HAVING", ()),
        order_by=given.get("ORDER BY", ()),
        span=span_of(text, 0, len(text)),
    )


def _assemble_intervals(clauses: list[Clause], text: str, problems: list[Problem]) -> Tree:
    given = _each_once(clauses, problems)
    within, session = given.get("WITHIN", (None, False))
    if session:
        hint = "write WITHIN and the length that matches may span"
        problems.append(problem_at(within.span, "TW101", "WITHIN SESSION is a window of trend queries", hint))
    return IntervalTree(
        source=given.get("FROM"),
        partition_by=given.get("PARTITION BY", ()),
        situations=given.get("DEFINE", ()),
        pattern=given.get("PATTERN", ()),
        within=within,
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
