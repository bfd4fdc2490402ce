"""Keys of the rows that go to Kafka: rows of one group have one key, so they stay in one partition, in order."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

from trendweave.cli.answers import QUERY, Answers, OneQuery
from trendweave.errors import DataError, Problem, near_names


def make_keys(columns: Sequence[str], answers: Answers, chosen: Sequence[str]) -> list[Column]:
    """Make the column `key`, a JSON object.

    Args:
        columns: The columns of the rows.
        answers: What tells them apart.
        chosen: The columns of keys that the user has named; without them those of groups, and of many queries the name
            of the query before them.

    Returns:
        The column; none where there is nothing to make a key of, and Kafka spreads rows over all partitions.

    Raises:
        DataError: There is no such column.
    """
    for name in chosen:
        if name not in columns:
            hint = near_names(name, columns) or f"the rows have {', '.join(columns)}"
            raise DataError([Problem("TW301", f"unknown column {name} in --out-key", hint)])
    if chosen:
        return [_write(chosen).alias("key")]
    if isinstance(answers, OneQuery):
        return [_write(answers.groups).alias("key")] if answers.groups else []
    # Queries that have the same groups share an expression, so that a thousand rules do not make a thousand.
    queries_by_groups: dict[tuple[str, ...], list[str]] = {}
    for query in answers.names:
        queries_by_groups.setdefault(answers.groups[query], []).append(query)
    cases = [
        F.when(F.col(QUERY).isin(queries), _write([QUERY, *groups])) for groups, queries in queries_by_groups.items()
    ]
    return [F.coalesce(*cases).alias("key")]


def _write(names: Sequence[str]) -> Column:
    return F.to_json(F.struct(*(F.col(f"`{name}`") for name in names)), {"ignoreNullFields": "false"})
