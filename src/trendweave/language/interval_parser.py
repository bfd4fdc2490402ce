"""Text of an interval query -> its tree."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

from lark import Lark

from trendweave.errors import Problem
from trendweave.language.interval_tree import IntervalTree
from trendweave.language.interval_tree_builder import IntervalTreeBuilder
from trendweave.language.parser import read_clauses
from trendweave.language.syntax_tree import Span, problem_at

_OUTSIDE_QUOTES = re.compile(r"""'[^']*'|"[^"]*"|`[^`]*`|--[^\n]*|/\*[\s\S]*?\*/|[\w.]+|\S""")


def is_interval_text(text: str) -> bool:
    """An interval query begins with FROM, or has a clause `DEFINE name AS ...` and no WHERE."""
    words = clause_words(text)
    if words[:1] == ["FROM"]:
        return True
    defined = any(
        word == "DEFINE" and following in ("AS", "AT", "BETWEEN")
        for word, following in zip(words, words[2:], strict=False)
    )
    return defined and "WHERE" not in words


def clause_words(text: str) -> list[str]:
    """The words of a text in upper case, without quoted text and comments."""
    found = _OUTSIDE_QUOTES.findall(text)
    return [word.upper() for word in found if not word.startswith(("'", '"', "--", "/*"))]


def parse_intervals(text: str) -> tuple[IntervalTree, list[Problem]]:
    builder = IntervalTreeBuilder()
    clauses = read_clauses(text, _grammar(), builder)
    given: dict[str, Any] = {}
    for keyword, value, span in clauses:
        if keyword in given:
            hint = f"join both into one {keyword}"
            builder.problems.append(problem_at(span, "TW105", f"{keyword} is given twice", hint))
        given.setdefault(keyword, value)
    tree = IntervalTree(
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
    return tree, builder.problems


@cache
def _grammar() -> Lark:
    shared = files("trendweave.language").joinpath("grammar.lark").read_text(encoding="utf-8")
    own = files("trendweave.language").joinpath("intervals.lark").read_text(encoding="utf-8")
    return Lark(f"{shared}\n{own}", parser="lalr", start="interval_query", propagate_positions=True)
