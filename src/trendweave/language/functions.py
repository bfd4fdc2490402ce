"""The names the language knows: scalar functions, aggregates, strategies and cast targets."""

from __future__ import annotations

#: Scalar function -> smallest and largest number of arguments (None: any number).
SCALAR_FUNCTIONS: dict[str, tuple[int, int | None]] = {
    "ABS": (1, 1),
    "CEIL": (1, 1),
    "COALESCE": (1, None),
    "CONCAT": (1, None),
    "FLOOR": (1, 1),
    "GREATEST": (2, None),
    "LEAST": (2, None),
    "LENGTH": (1, 1),
    "LOWER": (1, 1),
    "NULLIF": (2, 2),
    "SIGN": (1, 1),
    "SQRT": (1, 1),
    "SUBSTRING": (2, 3),
    "TRIM": (1, 1),
    "UPPER": (1, 1),
}

#: Aggregates over all trends of a window and group.
AGGREGATES: tuple[str, ...] = ("COUNT", "SUM", "MIN", "MAX", "AVG", "STDDEV")
#: What RETURN EACH can say of a single trend.
EACH_AGGREGATES: tuple[str, ...] = (*AGGREGATES, "FIRST", "LAST")

STRATEGIES: tuple[str, ...] = ("skip-till-any-match", "skip-till-next-match", "contiguous")

#: Spelling of a CAST target -> its canonical name.
CAST_TYPES: dict[str, str] = {
    "BIGINT": "BIGINT",
    "LONG": "BIGINT",
    "INT": "BIGINT",
    "INTEGER": "BIGINT",
    "DOUBLE": "DOUBLE",
    "FLOAT": "DOUBLE",
}


def argument_count(function: str) -> str:
    """How many arguments a scalar function takes, in words."""
    low, high = SCALAR_FUNCTIONS[function]
    if high == 1:
        return "1 argument"
    return f"{low} arguments" if low == high else f"{low} to {high} arguments" if high else f"{low} or more arguments"
