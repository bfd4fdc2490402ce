"""The words of the language, by which a page highlights and completes; taken from where the language keeps them."""

from __future__ import annotations

from typing import Any

from trendweave.language.durations import UNITS
from trendweave.language.functions import CAST_TYPES, EACH_AGGREGATES, SCALAR_FUNCTIONS, STRATEGIES
from trendweave.language.interval_tree import RELATIONS

#: Words that begin clauses, as a page offers them.
CLAUSES = (
    *("RETURN", "RETURN EACH", "RETURN TRENDS", "RETURN ROWS", "RETURN COMPLETE TRENDS", "RETURN SITUATIONS"),
    *("PATTERN", "SEMANTICS", "WHERE", "GROUP-BY", "WITHIN", "WITHIN SESSION", "SLIDE", "HAVING", "ORDER BY"),
    *("LIMIT", "LONGEST", "SHORTEST", "SAMPLE", "LONGEST PER START"),
    *("AFTER MATCH SKIP PAST LAST EVENT", "AFTER MATCH SKIP TO NEXT ROW"),
    *("AFTER MATCH SKIP TO FIRST", "AFTER MATCH SKIP TO LAST"),
    *("FROM", "FROM INTERVALS", "PARTITION BY", "DEFINE", "DETECT AT END", "EVERY"),
)
#: Words inside clauses.
WITHIN_CLAUSES = (
    *("SEQ", "AND", "OR", "NOT", "AS", "NEXT", "PREV", "IN", "BETWEEN", "IS", "NULL", "LIKE", "RLIKE", "TRUE", "FALSE"),
    *("CASE", "WHEN", "THEN", "ELSE", "END"),
    *("DISTINCT", "CAST", "TIMESTAMP", "DATE", "INTERVAL", "ASC", "DESC", "SEED", "DURING", "AT", "LEAST", "MOST"),
)


def list_words() -> dict[str, Any]:
    """Lists of words by what they are."""
    plural = sorted({unit for unit in UNITS if len(unit) > 4 and unit.endswith("s")})
    return {
        "clauses": list(CLAUSES),
        "words": list(WITHIN_CLAUSES),
        "aggregates": list(EACH_AGGREGATES),
        "functions": sorted(SCALAR_FUNCTIONS),
        "strategies": list(STRATEGIES),
        "relations": list(RELATIONS),
        "types": sorted(set(CAST_TYPES)),
        "units": sorted(UNITS),
        "shown_units": plural,
    }
