"""The columns of a workload's result: the query's name, then those of all queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from trendweave.errors import DataError, Problem
from trendweave.programs.program import TRENDS
from trendweave.programs.shared.unit import MEMBER, Found
from trendweave.results.types import ResultColumn, result_schema

#: The first column of a workload's result.
QUERY = "query"


def union_columns(results: Mapping[str, Sequence[ResultColumn]]) -> tuple[ResultColumn, ...]:
    """The columns of all queries, each once, in the order in which queries bring them.

    Args:
        results: The columns of each query by its name.

    Raises:
        DataError: A name has two types, or is the one that tells queries apart.
    """
    found: dict[str, tuple[str, ResultColumn]] = {}
    problems: list[Problem] = []
    for query, columns in results.items():
        for column in columns:
            if column.name == QUERY:
                message = f"query {query}: a column of its result is called {QUERY}, as the one with queries' names is"
                problems.append(Problem("TW313", message, f"give it another name: {QUERY} AS {QUERY}_1"))
                continue
            first, known = found.setdefault(column.name, (query, column))
            if known.type != column.type:
                message = (
                    f"column {column.name} is {known.type} in the result of query {first}, "
                    f"and {column.type} in that of query {query}"
                )
                problems.append(Problem("TW313", message, f"give one of them another name with AS in query {query}"))
    if problems:
        raise DataError(problems)
    return (ResultColumn(QUERY, pa.string()), *(column for _, column in found.values()))


@dataclass(frozen=True)
class NamedRows:
    """Writes rows of members as rows of the workload: with names, and with all columns. A member that stands for
    several names has its rows written for each."""

    schema: pa.Schema
    names: tuple[tuple[str, ...], ...]

    @staticmethod
    def of(columns: tuple[ResultColumn, ...], names: Sequence[Sequence[str]]) -> NamedRows:
        return NamedRows(result_schema(columns), tuple(tuple(one) for one in names))

    def write(self, found: Found) -> list[pa.Table]:
        """Tables with the columns of the workload; a hidden column of counts stays the last."""
        if found.member is not None:
            return [self._fill(found.table, _repeat(name, found.table.num_rows)) for name in self.names[found.member]]
        numbers = found.table.column(MEMBER).to_numpy()
        rest = found.table.drop_columns([MEMBER])
        first = pa.array([names[0] for names in self.names], pa.string())
        tables = [self._fill(rest, first.take(pa.array(numbers)))]
        for number, names in enumerate(self.names):
            own = numbers == number if len(names) > 1 else None
            if own is not None and own.any():
                table = rest.filter(pa.array(own))
                tables += [self._fill(table, _repeat(name, table.num_rows)) for name in names[1:]]
        return tables

    def _fill(self, table: pa.Table, names: pa.Array) -> pa.Table:
        columns = [names] + [
            table.column(field.name) if field.name in table.column_names else pa.nulls(table.num_rows, field.type)
            for field in list(self.schema)[1:]
        ]
        schema = self.schema
        if TRENDS in table.column_names:
            columns.append(table.column(TRENDS))
            schema = schema.append(pa.field(TRENDS, pa.float64()))
        return pa.table(columns, schema=schema)


def _repeat(name: str, count: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), pa.array([name])).dictionary_decode()
