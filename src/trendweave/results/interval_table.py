"""Matches and situations -> result tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.kernels.intervals import RUNNING
from trendweave.kernels.sorting import list_ranges
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.plan import Path
from trendweave.results.types import length_type
from trendweave.rows.times import TimeType, as_times, steps_of


class Situations(Protocol):
    """What tables read of situations: one entry each."""

    @property
    def kind(self) -> np.ndarray:
        """Which situation of the query it is."""

    @property
    def partition(self) -> np.ndarray:
        """Where it was found."""

    @property
    def start(self) -> np.ndarray:
        """When it began, in steps of the time column."""

    @property
    def end(self) -> np.ndarray:
        """When it ended; RUNNING where it has no end."""


class Matches(Protocol):
    """What tables read of matches."""

    @property
    def situation(self) -> np.ndarray:
        """One situation of each kind per match, as places among the situations."""

    @property
    def moment(self) -> np.ndarray:
        """When each match was certain."""


@dataclass(frozen=True, slots=True)
class IntervalResults:
    """Writes result tables. `keys` are the attributes of each partition, in the order of PARTITION BY."""

    plan: IntervalPlan
    schema: pa.Schema
    kind: TimeType
    keys: list[pa.Array]

    def times(self, steps: np.ndarray) -> pa.Array:
        """Write steps as times of the input's type; RUNNING is NULL.

        Args:
            steps: int64 steps.

        Returns:
            The times.
        """
        running = steps == RUNNING
        times = as_times(np.where(running, 0, steps), self.kind)
        return pc.if_else(pa.array(~running), times, pa.scalar(None, times.type)) if running.any() else times

    def key(self, path: Path, partition: np.ndarray) -> pa.Array:
        """Take a partition attribute.

        Args:
            path: Which one.
            partition: Of which partitions.

        Returns:
            Its values.
        """
        column = self.keys[self.plan.partition_by.index(path)]
        return column.take(pa.array(partition))

    def situations(self, situations: Situations) -> pa.Table:
        """Write situations; one that still runs has no end.

        Args:
            situations: Those of a good length.

        Returns:
            A row per situation.
        """
        order = np.lexsort((situations.kind, situations.start, situations.partition))
        names = pa.array(self.plan.names, pa.string()).take(pa.array(situations.kind[order]))
        keys = [self.key(path, situations.partition[order]) for path in self.plan.partition_by]
        columns = [*keys, names, self.times(situations.start[order]), self.times(situations.end[order])]
        return self.table(columns)

    def matches(self, situations: Situations, found: Matches, values: dict[int, pa.Array]) -> pa.Table:
        """Write matches.

        Args:
            situations: The situations.
            found: The matches.
            values: The columns that aggregates fill, by the number of the output.

        Returns:
            A row per match.
        """
        ends = np.where(
            situations.end[found.situation] <= found.moment[:, None], situations.end[found.situation], RUNNING
        )
        starts = situations.start[found.situation]
        columns = [self.times(found.moment)]
        for k in range(len(self.plan.situations)):
            columns += [self.times(starts[:, k]), self.times(ends[:, k])]
        partition = situations.partition[found.situation[:, 0]]
        for number, output in enumerate(self.plan.outputs):
            if output.function is None:
                columns.append(self.key(output.path or (), partition))
            elif output.function == "DURATION":
                # So far, while it still runs.
                until = np.minimum(situations.end[found.situation[:, output.situation]], found.moment)
                columns.append(self._length(until - starts[:, output.situation]))
            else:
                columns.append(values[number])
        return self.table(columns)

    def _length(self, steps: np.ndarray) -> pa.Array:
        numbers = pa.array(steps / 1e6 if self.kind.is_float else steps)
        return numbers.cast(length_type(self.kind.arrow))

    def window_range(self, first: np.ndarray, moment: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Find the windows that hold matches.

        Args:
            first: When each match began.
            moment: When it was certain.

        Returns:
            The first and the last number of a window; the first is larger where there is none.
        """
        length, slide = window_lengths(self.plan, self.kind)
        return np.floor_divide(moment - length, slide) + 1, np.floor_divide(first, slide)

    def table(self, columns: list[pa.Array]) -> pa.Table:
        """Make the table of columns that are computed.

        Args:
            columns: In the order of the schema.

        Returns:
            The table, in its types.
        """
        cast = [column.cast(field.type) for column, field in zip(columns, self.schema, strict=True)]
        return pa.table(cast, schema=self.schema)


def window_lengths(plan: IntervalPlan, kind: TimeType) -> tuple[int, int]:
    """WITHIN and EVERY in steps of the time column."""
    assert plan.within is not None
    assert plan.every is not None
    return steps_of(plan.within, kind, "WITHIN"), steps_of(plan.every, kind, "EVERY")


def count_ranges(first: np.ndarray, last: np.ndarray, group: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Count the ranges of a group that hold each number.

    Args:
        first: The first number of each range.
        last: Its last number; below the first where it holds none.
        group: The group of each range.

    Returns:
        Numbers that some range holds, their group, and how many ranges do.
    """
    real = first <= last
    first, last, group = first[real], last[real], group[real]
    at = np.concatenate([first, last + 1])
    of = np.concatenate([group, group])
    change = np.repeat(np.array([1, -1]), first.size)
    order = np.lexsort((at, of))
    at, of = at[order], of[order]
    level = np.cumsum(change[order])
    # Between two changes the number stays the same; at the end of a group it is 0.
    here = np.flatnonzero(level[:-1] > 0) if level.size else np.empty(0, np.int64)
    lengths = at[here + 1] - at[here]
    return list_ranges(at[here], lengths), np.repeat(of[here], lengths), np.repeat(level[here], lengths)
