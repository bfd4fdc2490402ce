"""The names the language knows: scalar functions, aggregates, strategies and cast targets."""

from __future__ import annotations

#: Scalar function -> smallest and largest number of arguments (None: any number).
SCALAR_FUNCTIONS: dict[str, tuple[int, int | None]] = {
    "ABS": (1, 1),
    "CEIL": (1, 1),
    "COALESCE": (1, None),
    "CONCAT": (1, None),
    "DATE": (1, 1),
    "DATEDIFF": (2, 2),
    "DATE_TRUNC": (2, 2),
    "DAY": (1, 1),
    "DAYOFWEEK": (1, 1),
    "DAYOFYEAR": (1, 1),
    "FLOOR": (1, 1),
    "GREATEST": (2, None),
    "HOUR": (1, 1),
    "LEAST": (2, None),
    "LENGTH": (1, 1),
    "LOWER": (1, 1),
    "MINUTE": (1, 1),
    "MONTH": (1, 1),
    "NULLIF": (2, 2),
    "QUARTER": (1, 1),
    "ROUND": (1, 2),
    "SECOND": (1, 1),
    "SIGN": (1, 1),
    "SQRT": (1, 1),
    "SUBSTRING": (2, 3),
    "TRIM": (1, 1),
    "UNIX_TIMESTAMP": (1, 1),
    "UPPER": (1, 1),
    "WEEKDAY": (1, 1),
    "WEEKOFYEAR": (1, 1),
    "YEAR": (1, 1),
}
#: Other names of functions -> the name that the language keeps.
OTHER_NAMES: dict[str, str] = {
    "CEILING": "CEIL",
    "DATE_DIFF": "DATEDIFF",
    "DAYOFMONTH": "DAY",
    "SUBSTR": "SUBSTRING",
    "TO_DATE": "DATE",
    "UNIX_SECONDS": "UNIX_TIMESTAMP",
}
#: Functions of a timestamp or a date that give a whole number.
PARTS_OF_TIME: frozenset[str] = frozenset(
    {
        *("YEAR", "QUARTER", "MONTH", "DAY", "DAYOFWEEK", "WEEKDAY", "DAYOFYEAR", "WEEKOFYEAR"),
        *("HOUR", "MINUTE", "SECOND", "UNIX_TIMESTAMP"),
    }
)
#: Units that DATE_TRUNC goes back to the beginning of.
TRUNCATION_UNITS: tuple[str, ...] = (
    *("MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR"),
)
#: ROUND keeps so many digits after the point at most: powers of ten up to this one are exact floats.
MAX_ROUNDED_DIGITS = 22

#: Aggregates over all trends of a window and group.
AGGREGATES: tuple[str, ...] = ("COUNT", "SUM", "MIN", "MAX", "AVG", "STDDEV", "VARIANCE")
#: What only RETURN EACH can say, of a single trend.
OF_ONE_TREND: tuple[str, ...] = ("FIRST", "LAST", "MEDIAN", "PERCENTILE", "COLLECT_LIST", "COLLECT_SET")
#: What RETURN EACH can say of a single trend.
EACH_AGGREGATES: tuple[str, ...] = (*AGGREGATES, *OF_ONE_TREND)
#: `F[2].x`, an attribute of the second event of a variable: an aggregate of one trend that is not written as a call.
NTH = "NTH"

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
