"""Values as Spark SQL text with their kind: columns and literals."""

from __future__ import annotations

import re
from dataclasses import dataclass

from trendweave.errors import Problem, raise_problems
from trendweave.events import Kind
from trendweave.language import syntax_tree as st
from trendweave.planning.plan import Path


@dataclass(frozen=True, slots=True)
class Sql:
    """Text with the kind of its value; of a duration that the query spells out, also its length."""

    text: str
    kind: Kind
    nanoseconds: int | None = None


NUMBERS = frozenset({Kind.INTEGER, Kind.FLOAT, Kind.DECIMAL})
MOMENTS = frozenset({Kind.TIMESTAMP, Kind.DATE})
NULL = Sql("NULL", Kind.NULL)
NO_ANSWER = Sql("CAST(NULL AS BOOLEAN)", Kind.BOOLEAN)


def spark_column(path: Path) -> str:
    """Write a column as it is, in its own type, for keys and results.

    Args:
        path: The name of the column, behind those of the structs that it lies in.

    Returns:
        The text.
    """
    return ".".join("`" + name.replace("`", "``") + "`" for name in path)


def write_column(column: str, kind: Kind) -> str:
    """Write a column in the one type of its kind.

    Args:
        column: Its name as Spark quotes it.
        kind: Its kind.

    Returns:
        The text.
    """
    match kind:
        case Kind.INTEGER:
            return f"CAST({column} AS BIGINT)"
        case Kind.FLOAT:
            return f"CAST({column} AS DOUBLE)"
        case Kind.TIMESTAMP:
            # Which of the two types it is, Spark knows when it reads the text; one branch disappears then.
            wall_clock = _microseconds_of_interval(f"{column} - TIMESTAMP_NTZ '1970-01-01 00:00:00'")
            return f"IF(TYPEOF({column}) = 'timestamp_ntz', TIMESTAMP_MICROS({wall_clock}), {column})"
        case Kind.DURATION:
            return _microseconds_of_interval(column)
    return column


def _microseconds_of_interval(interval: str) -> str:
    return f"CAST(CAST(CAST({interval} AS INTERVAL SECOND) AS DECIMAL(19, 6)) * 1000000 AS BIGINT)"


def write_literal(value: bool | int | float | str | None) -> Sql:
    """Write a Python value.

    Args:
        value: What stands in the query.

    Returns:
        The text.
    """
    match value:
        case None:
            return NULL
        case bool():
            return Sql("TRUE" if value else "FALSE", Kind.BOOLEAN)
        case int():
            return Sql(f"{value}L", Kind.INTEGER)
        case float():
            return Sql(f"{value!r}D", Kind.FLOAT)
        case str():
            return Sql(write_text(value), Kind.STRING)


def write_text(value: str) -> str:
    """Quote a text; as bytes where a setting of the session could give a character another meaning.

    Args:
        value: The text.

    Returns:
        The literal.
    """
    if re.fullmatch(r"[^\\'\"$\x00-\x1f]*", value):
        return f"'{value}'"
    return f"CAST(X'{value.encode().hex()}' AS STRING)"


def write_duration(nanoseconds: int | None) -> Sql:
    """Write a length of time in microseconds.

    Args:
        nanoseconds: The length.

    Returns:
        The text.
    """
    assert nanoseconds is not None, "a problem was reported for it"
    whole, fraction = divmod(nanoseconds, 1_000)
    return Sql(f"{whole}.{fraction:03}BD" if fraction else f"{whole}L", Kind.DURATION, nanoseconds)


def refuse_finer_than_microseconds(expression: st.Expression) -> None:
    """Refuse lengths of time that Spark cannot hold.

    Args:
        expression: Where they may stand.

    Raises:
        LanguageError: One is finer than a microsecond.
    """
    for node in expression.walk():
        if isinstance(node, st.Duration) and node.nanoseconds is not None and node.nanoseconds % 1_000:
            message = "Spark's timestamps and durations have no parts finer than a microsecond"
            raise_problems([Problem("TW306", message, "write the duration in microseconds")])
