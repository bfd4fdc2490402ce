"""Rows of members as rows of the workload: with the names of queries, and with the columns of all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from trendweave.programs.program import TRENDS
from trendweave.programs.shared.since import Beginning, RowFilter
from trendweave.programs.shared.unit import MEMBER, Found
from trendweave.results.types import ResultColumn, result_schema
from trendweave.results.united_columns import Notes, widen


@dataclass(frozen=True)
class NamedRows:
    """Writes rows of members. A member that stands for several names has its rows written for each; of one that came
    later, rows of what began before it came are left out."""

    columns: tuple[ResultColumn, ...]
    names: tuple[tuple[str, ...], ...]
    begins: Mapping[str, Beginning] = field(default_factory=dict)
    notes: Notes = field(default_factory=dict)

    @cached_property
    def schema(self) -> pa.Schema:
        return result_schema(self.columns)

    def write(self, found: Found) -> Iterator[pa.RecordBatch]:
        """Batches with the columns of the workload; a hidden column of counts stays the last."""
        rows = self._name(found)
        return RowFilter(None, self.begins).keep(rows) if self.begins else rows

    def _name(self, found: Found) -> Iterator[pa.RecordBatch]:
        if found.member is not None:
            for name in self.names[found.member]:
                for batch in found.table.to_batches():
                    yield self._widen(batch, pa.repeat(pa.scalar(name, pa.string()), batch.num_rows))
            return
        for batch in found.table.to_batches():
            numbers = batch.column(MEMBER).to_numpy(zero_copy_only=False)
            rest = batch.drop_columns([MEMBER])
            yield self._widen(rest, self._first_names.take(pa.array(numbers)))
            for number in self._of_several[np.isin(self._of_several, numbers)]:
                own = rest.filter(pa.array(numbers == number))
                yield from self._repeat(own, self.names[number][1:])

    @cached_property
    def _first_names(self) -> pa.Array:
        return pa.array([names[0] for names in self.names], pa.string())

    @cached_property
    def _of_several(self) -> np.ndarray:
        """Members that stand for several names."""
        return np.flatnonzero([len(names) > 1 for names in self.names])

    def _repeat(self, batch: pa.RecordBatch, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for name in names:
            yield self._widen(batch, pa.repeat(pa.scalar(name, pa.string()), batch.num_rows))

    def _widen(self, batch: pa.RecordBatch, names: pa.Array) -> pa.RecordBatch:
        counted = batch.column(TRENDS) if TRENDS in batch.schema.names else None
        wide = widen(batch, names, self.columns, self.notes)
        return wide if counted is None else wide.append_column(TRENDS, counted)
