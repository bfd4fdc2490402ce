"""Queries with their words in colours."""

from __future__ import annotations

import re

from trendweave.pictures.shapes import COLOURS, quote

#: Words of the language; a test compares them with the grammars.
_WORDS = """
    RETURN COMPLETE EACH TRENDS ROWS DISTINCT AS PATTERN SEQ NOT AND OR SEMANTICS WHERE GROUP BY WITHIN SESSION SLIDE
    LIMIT LONGEST SHORTEST SAMPLE SEED PER START AFTER MATCH SKIP PAST LAST EVENT ROW TO NEXT FIRST HAVING ORDER ASC
    DESC IN BETWEEN IS NULL LIKE RLIKE TRUE FALSE PREV INTERVAL CAST TIMESTAMP DATE DURING FROM INTERVALS PARTITION
    DEFINE AT LEAST MOST DETECT END EVERY SITUATIONS FILTER AGGREGATE JOIN OVER ON CASE WHEN THEN
    ELSE
"""
KEYWORDS = frozenset(_WORDS.split())
_PARTS = re.compile(
    r"(?P<comment>--[^\n]*|/\*[\s\S]*?\*/)|(?P<text>'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")"
    r"|(?P<name>`(?:[^`]|``)+`|\.\s*\w+)|(?P<number>\b\d[\d.]*(?:[eE][+-]?\d+)?\b)|(?P<function>\b[A-Z][A-Z_]*(?=\s*\())|(?P<word>\b[A-Za-z_]\w*)"
)
_KEYWORD, _TEXT, _NUMBER, _FUNCTION = COLOURS[0], COLOURS[2], COLOURS[1], COLOURS[3]


def highlight_query(text: str) -> str:
    """Colour a query, as HTML; keywords are those in capitals, as the printer writes them.

    Args:
        text: The text of a query, or of operators.
    """
    parts: list[str] = []
    before = 0
    for found in _PARTS.finditer(text):
        parts.append(quote(text[before : found.start()]))
        parts.append(_colour(found))
        before = found.end()
    return "".join([*parts, quote(text[before:])])


def _colour(found: re.Match[str]) -> str:
    word, shown = found[0], quote(found[0])
    match found.lastgroup:
        case "comment":
            return f'<span style="opacity: .6">{shown}</span>'
        case "text":
            return f'<span style="color: {_TEXT}">{shown}</span>'
        case "number":
            return f'<span style="color: {_NUMBER}">{shown}</span>'
        case "function" if word not in KEYWORDS:
            return f'<span style="color: {_FUNCTION}">{shown}</span>'
        case "function" | "word" if word in KEYWORDS:
            return f'<span style="color: {_KEYWORD}; font-weight: 600">{shown}</span>'
        case _:
            return shown
