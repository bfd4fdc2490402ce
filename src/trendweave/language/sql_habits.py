"""Words of SQL and of other languages of patterns that people write out of habit, and what they mean here."""

from __future__ import annotations

import re
from typing import NamedTuple

from trendweave.errors import near_names
from trendweave.language.outline import QueryKind, find_clauses

#: Clauses of trend queries.
CLAUSES = ("RETURN", "PATTERN", "SEMANTICS", "WHERE", "GROUP-BY", "WITHIN", "SLIDE", "LIMIT", "LONGEST", "SAMPLE")


class Habit(NamedTuple):
    """Where it stands in the text, what is wrong, and the hint."""

    start: int
    end: int
    message: str
    hint: str


#: What is looked for outside of quotes and comments, and the answer; the first that stands in the text is given.
_HABITS: tuple[tuple[str, str, str], ...] = (
    (
        r"\bMATCH_RECOGNIZE\b",
        "MATCH_RECOGNIZE is not needed: its clauses are those of a query",
        "MEASURES are RETURN EACH ... AS name, DEFINE is WHERE, PARTITION BY k is WHERE [k], PATTERN (A B+) is "
        "PATTERN SEQ(A, B+)",
    ),
    (
        r"\bSELECT\b",
        "a query says what it returns with RETURN, not SELECT",
        "write for example RETURN COUNT(*) PATTERN Stock S+; pass the events to run",
    ),
    (r"\bMEASURES\b", "outputs of a match are in RETURN, not MEASURES", "write RETURN EACH LAST(B.price) AS price"),
    (
        r"\bPARTITION\s+BY\b",
        "keys of trends are a condition, not PARTITION BY",
        "write WHERE [k]: all events of a trend have the same k; GROUP-BY k also gives each k its own rows",
    ),
    (r"->", "a sequence is not written with ->", "write SEQ(A, B)"),
    (r"\bFOLLOWED\s+BY\b", "a sequence is not written with FOLLOWED BY", "write SEQ(A, B)"),
    (
        r"\b(TUMBLE|TUMBLING|HOP|HOPPING|SLIDING)\b",
        "windows are written with WITHIN and SLIDE",
        "write WITHIN 10 minutes SLIDE 10 minutes for tumbling windows, and a shorter SLIDE for windows that overlap",
    ),
    (r"\bILIKE\b", "there is no ILIKE", "write LOWER(x) LIKE 'a%'"),
    (r"=~|~\*?(?=\s*')", "a regular expression is tested with RLIKE", "write x RLIKE 'regex'"),
    (
        r"\b\w+(\.\w+)+\s*\[\s*-?\d+\s*\]",
        "the number of an event belongs to its variable, not to the attribute",
        "write F[1].ip for the ip of the first event of F",
    ),
    (
        r"\b\w+\s*\[\s*-?\d+\s*\](?!\s*\.)",
        "an event by its number needs an attribute",
        "write F[1].ip for the ip of the first event of F",
    ),
    (
        r"\bNEXT\s*\(\s*\w+\s*\.[^()]*\)",
        "NEXT takes a variable, not its attribute",
        "write NEXT(S).price for the price of the next S",
    ),
    (r"&&", "conditions are joined with AND", "write AND"),
    (r"\|\|", "|| is neither OR nor a way to join texts", "write OR, or CONCAT(a, b)"),
    (r"\|", "alternatives are not written with |", "write OR, as in (A OR B)+"),
    (
        r"(?<=RETURN)\s+\*(?=\s)",
        "RETURN * does not say what is returned",
        "RETURN ROWS shows all events of each match, RETURN TRENDS each match in a row, RETURN COUNT(*) their number",
    ),
    (
        r"\bSESSION\s*\(|(?<!WITHIN)\s+SESSION(?=\s+\d)",
        "a window that ends after a pause is written with WITHIN SESSION",
        "write WITHIN SESSION 30 minutes",
    ),
    (
        r"(?<=SEMANTICS)\s+SKIP\s+TILL\b",
        "strategies are written with hyphens",
        "write skip-till-next-match or skip-till-any-match",
    ),
    (
        r"\bEACH(?=\s+(PATTERN|WHERE|WITHIN)\b)",
        "RETURN EACH needs a list of outputs",
        "write RETURN EACH LENGTH, or attributes and aggregates; RETURN TRENDS shows whole trends",
    ),
    (
        r"\bWITHIN\b(?=[^()]*\)\s*($|\b(WHERE|WITHIN|RETURN|SEMANTICS|GROUP)\b))",
        "WITHIN is a clause of the query, not of a part of its pattern",
        "write SEQ(A, NOT B) WITHIN 1 hour: a NOT at the end then waits for an hour after the first event",
    ),
    (
        r"(?<=PATTERN)\s+(NOT\s+)?\w+(\s+\w+)?[+*?]?\s*,",
        "a sequence is written with SEQ",
        "write SEQ(A, NOT B, C)",
    ),
)
SIDE_BY_SIDE = "names side by side are a type and its variable, not a sequence"
_PART = rf"(?!(?:{'|'.join(CLAUSES)}|GROUP|AND|OR|NOT)\b)[^\W\d]\w*(?:[+*?]|{{[\d,]*}})*"
_SEQUENCE = re.compile(
    rf"\bPATTERN\s*(?:\(\s*|\s)(?P<parts>{_PART}(?:\s+{_PART}){{2,}})(?=\s*(?:[);]|$|\b(?:{'|'.join(CLAUSES)}|GROUP)\b))",
    re.IGNORECASE,
)
_HIDDEN = re.compile(r"""'[^']*'|"[^"]*"|`[^`]*`|--[^\n]*|/\*[\s\S]*?\*/""")


def find_habit(text: str, kind: QueryKind, position: int) -> Habit | None:
    """Find a word of habit in a text that cannot be read.

    Args:
        text: The query.
        kind: What its clauses take it for.
        position: Where reading it ended.

    Returns:
        The first one up to a little behind that place; None where there is none.
    """
    if kind == "intervals":
        single = _find_single_situation(text)
        if single is not None:
            return single
    seen = _HIDDEN.sub(lambda quoted: "'" + " " * (len(quoted[0]) - 2) + "'" if len(quoted[0]) > 1 else " ", text)
    defines = any(clause.keyword == "DEFINE" for clause in find_clauses(text))
    found = []
    for pattern, message, hint in _HABITS:
        if pattern.startswith(r"\bPARTITION") and defines and "MATCH_RECOGNIZE" not in seen.upper():
            continue  # interval queries have that clause
        # PARTITION BY makes the text look like an interval query, whose patterns are others.
        anywhere = pattern.startswith(r"\bPARTITION")
        match = re.search(pattern, seen, re.IGNORECASE)
        if match is not None and (anywhere or match.start() <= position + 1):
            start = match.start() + len(match[0]) - len(match[0].lstrip())
            found.append(Habit(start, match.start() + len(match[0].rstrip()), message, hint))
    sequence = None if found else _find_sequence(seen)
    if sequence is not None and sequence.start <= position:
        return sequence
    strongest = [habit for habit in found if "MATCH_RECOGNIZE" in habit.message]
    if not strongest and "MATCH_RECOGNIZE" in seen.upper() and found:
        match = re.search(r"\bMATCH_RECOGNIZE\b", seen, re.IGNORECASE)
        if match is not None:
            return Habit(match.start(), match.end(), *_HABITS[0][1:])
    return strongest[0] if strongest else min(found, default=None, key=lambda habit: habit.start)


def _find_sequence(text: str) -> Habit | None:
    """Three or more names behind PATTERN, as MATCH_RECOGNIZE writes a sequence; not a clause that is misspelt."""
    match = _SEQUENCE.search(text)
    parts = match["parts"].split() if match is not None else []
    if match is None or any(near_names(re.split(r"\W", part)[0], CLAUSES) for part in parts):
        return None
    hint = f"write SEQ({', '.join(parts)})"
    types, variables = parts[::2], parts[1::2]
    if len(types) == len(variables) and all(part.isidentifier() for part in types):
        named = map(" ".join, zip(types, variables, strict=True))
        hint += f", or SEQ({', '.join(named)}) for types with variables"
    return Habit(match.start("parts"), match.end("parts"), SIDE_BY_SIDE, hint)


def _find_single_situation(text: str) -> Habit | None:
    """A PATTERN of one situation, where two are to be related."""
    clauses = find_clauses(text)
    for clause in clauses if any(clause.keyword in ("DEFINE", "FROM") for clause in clauses) else ():
        if clause.keyword == "PATTERN" and len(clause.words) == 1 and clause.words[0].type == "NAME":
            word = clause.words[0]
            start = word.start_pos or 0
            return Habit(
                start,
                start + len(word),
                f"a PATTERN relates two situations, and {word} stands alone",
                "leave PATTERN out: each situation is a match then",
            )
    return None
