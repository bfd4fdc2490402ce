"""The clauses of a text, as far as they are needed to say which kind of query it is.

Clauses are found before the text is read by the grammar of its kind, so that a mistaken text still gets the errors of
the language that it was meant in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, TypeAlias

from lark import Lark, Token

from trendweave.language.interval_tree import RELATIONS

QueryKind: TypeAlias = Literal["trends", "intervals", "trends in situations"]

#: Words between quotes, in brackets or behind a dot are names; a clause begins with one of these elsewhere.
_WORDS = r"""
start: (HEAD | NAME | DOTTED | QUOTED | OPEN | CLOSE | SIGN)*
HEAD.3: /(RETURN|PATTERN|SEMANTICS|WHERE|GROUP\s*-?\s*BY|WITHIN|SLIDE|FROM|PARTITION\s*-?\s*BY|DEFINE)\b/i
      | /(HAVING|ORDER\s*-?\s*BY)\b/i
      | /(LIMIT|LONGEST|SAMPLE|EVERY)\b(?=\s+[\d$])/i
      | /(SHORTEST|LONGEST\s+PER\s+START)\b|AFTER\s+MATCH\b/i
      | /DETECT\b(?=\s+AT\b)/i
DOTTED.4: /\.\s*\w+/
NAME: /\w+/
QUOTED.5: /'([^']|'')*'/ | /"([^"]|"")*"/ | /`([^`]|``)*`/
OPEN: /[(\[{]/
CLOSE: /[)\]}]/
SIGN.-1: /[^\w\s]/
%ignore /\s+/
%ignore /--[^\n]*/
%ignore /\/\*[\s\S]*?\*\//
"""
_ONLY_OF_INTERVALS = frozenset({"PARTITION BY", "DETECT", "EVERY"})
_ONLY_OF_TRENDS = frozenset(
    {"WHERE", "SEMANTICS", "GROUP BY", "SLIDE", "HAVING", "ORDER BY", "LIMIT", "LONGEST", "SAMPLE"}
)
_RELATION_WORDS = frozenset(name.split("-")[0] for name in RELATIONS)
_OPERATORS = frozenset({"NOT", "AND", "OR", "SEQ"})


@dataclass(slots=True)
class WrittenClause:
    """A keyword in upper case, and the words and signs that follow it outside of brackets."""

    keyword: str
    start: int
    words: list[Token] = field(default_factory=list)

    def begins_with(self, word: str) -> bool:
        return bool(self.words) and self.words[0].upper() == word


def find_clauses(text: str) -> list[WrittenClause]:
    """The clauses of a text in their order; words before the first one belong to none."""
    clauses: list[WrittenClause] = []
    depth = 0
    for token in _lexer().lex(text):
        if token.type == "HEAD" and depth == 0:
            clauses.append(WrittenClause(re.sub(r"[\s-]*BY$", " BY", token.upper()), token.start_pos or 0))
        elif clauses and depth == 0:
            clauses[-1].words.append(token)
        depth = max(0, depth + {"OPEN": 1, "CLOSE": -1}.get(token.type, 0))
    return clauses


@cache
def _lexer() -> Lark:
    return Lark(_WORDS, parser="lalr", lexer="basic")


def tell_kind(text: str) -> QueryKind:
    """What kind of query a text is, by its clauses.

    A PATTERN of relations (`A before B`), or a clause that only interval queries have, makes an interval query.
    Definitions of situations do as well, unless there are clauses or patterns of trends beside them: then it is a trend
    query whose events lie in situations.
    """
    clauses = find_clauses(text)
    keywords = {clause.keyword for clause in clauses}
    defines = bool(keywords & {"FROM", "DEFINE"})
    relations = [word for clause in clauses for word in _find_relations(clause)]
    # Three names in a row may also be a trend with a mistake; with definitions, or a known relation, they are not.
    if any(map(_speaks_of_intervals, clauses)) or any(defines or word in _RELATION_WORDS for word in relations):
        return "intervals"
    if not defines:
        asks = any(clause.keyword == "WHERE" and _names_situation(clause) for clause in clauses)
        return "trends in situations" if asks else "trends"
    trends = keywords & _ONLY_OF_TRENDS or any(map(_speaks_of_trends, clauses))
    return "trends in situations" if trends else "intervals"


def find_foreign_clause(text: str, kind: QueryKind) -> WrittenClause | None:
    """The first clause that an interval query cannot have; None for other kinds, which have nearly all of them."""
    if kind != "intervals":
        return None
    return next((clause for clause in find_clauses(text) if clause.keyword in _ONLY_OF_TRENDS), None)


def _names_situation(clause: WrittenClause) -> bool:
    return any(word.type == "NAME" and word.upper() == "DURING" for word in clause.words)


def _speaks_of_intervals(clause: WrittenClause) -> bool:
    match clause.keyword:
        case "RETURN":
            return clause.begins_with("SITUATIONS") and len(clause.words) == 1
        case "FROM":
            return clause.begins_with("INTERVALS")
    return clause.keyword in _ONLY_OF_INTERVALS


def _find_relations(clause: WrittenClause) -> list[str]:
    """What stands between names of a PATTERN, which may be a relation: the second of three names in a row, or of two
    with a further relation behind them (`A meets; overlaps B`)."""
    found: list[str] = []
    row: list[str] = []
    for word in clause.words if clause.keyword == "PATTERN" else ():
        is_name = word.type == "NAME" and word.upper() not in _OPERATORS
        if is_name or (word.type == "QUOTED" and word.startswith("`")):
            row.append(word.lower())
            found += row[1:2] if len(row) == 3 else []
        elif len(row) != 2 or word not in (";", "-", "_"):
            row = []
    return found


def _speaks_of_trends(clause: WrittenClause) -> bool:
    """Sequences, quantifiers and brackets in a PATTERN, or trends in RETURN."""
    if clause.keyword == "RETURN":
        return clause.begins_with("TRENDS") or clause.begins_with("COMPLETE") or clause.begins_with("EACH")
    return clause.keyword == "PATTERN" and any(
        word.type == "OPEN" or word in ("+", "*", "?", "!") or word.upper() == "SEQ" for word in clause.words
    )
