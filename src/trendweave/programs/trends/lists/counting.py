"""How many trends each window of each segment has, before the first one is built, as the kernels of aggregates count
them. Windows and groups are numbered here, and the lists of trends use the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from trendweave.kernels.lists.graph import ALL, CHECKED, COMPLETE
from trendweave.planning.plan import MovingWindow, Plan
from trendweave.programs.trends.aggregates import PartitionTask
from trendweave.programs.trends.kernel_inputs import Piece
from trendweave.rows.trend_windows import TrendNumbers
from trendweave.rows.windows import WindowNumbers

#: The count of an entry whose complete trends 64 bits cannot count.
UNKNOWN = -1


def choose_mode(plan: Plan) -> int:
    """Settle which paths of the graph are trends to show: all of them, those of the reduced graph, or checked ones."""
    if not plan.complete:
        return ALL
    alike = not isinstance(plan.window, MovingWindow) or plan.has_alike_edges
    return COMPLETE if plan.reduced_graph_is_exact and alike else CHECKED


@dataclass(frozen=True, slots=True)
class WindowEntries:
    """Windows with trends in the segments of all pieces, which are numbered one after the other.

    `counts` are the trends of each entry, UNKNOWN where 64 bits cannot tell; of checked complete trends, those of all
    trends.
    """

    segment: np.ndarray
    window: np.ndarray
    group: np.ndarray
    counts: np.ndarray

    @property
    def size(self) -> int:
        return int(self.segment.size)

    @property
    def total(self) -> int | None:
        """All trends; None where that is not known."""
        return None if (self.counts == UNKNOWN).any() else sum(self.counts.tolist())

    @staticmethod
    def join(parts: Sequence[WindowEntries]) -> WindowEntries:
        """Put entries one after the other."""
        names = WindowEntries.__slots__
        return WindowEntries(*(join_arrays([getattr(part, name) for part in parts]) for name in names))

    def take(self, chosen: np.ndarray) -> WindowEntries:
        return WindowEntries(*(getattr(self, name)[chosen] for name in WindowEntries.__slots__))

    def find_segments(self, first: int, end: int) -> np.ndarray:
        """Find the entries of the segments `first:end`."""
        return np.flatnonzero((self.segment >= first) & (self.segment < end))


@dataclass(frozen=True, slots=True)
class CountedTrends:
    """The rows of a task in pieces, their groups and windows, and the entries that have trends: none as long as nothing
    is counted.

    `groups` holds per piece the group of each segment.
    """

    task: PartitionTask
    pieces: list[Piece]
    groups: list[np.ndarray]
    group_columns: list[pa.Array]
    windows: WindowNumbers
    entries: WindowEntries

    @property
    def first_segments(self) -> np.ndarray:
        """The number of each piece's first segment, and of the one after the last."""
        return np.concatenate([[0], np.cumsum([piece.segments.count for piece in self.pieces])]).astype(np.int64)

    @property
    def partitions(self) -> np.ndarray:
        """The partition of each segment."""
        return join_arrays([piece.segments.partition for piece in self.pieces])

    def with_entries(self, entries: WindowEntries) -> CountedTrends:
        """The same once something is counted; windows that are not asked for are left out."""
        if isinstance(self.windows, TrendNumbers) and not self.windows.asked.all():
            entries = entries.take(self.windows.asked[entries.window])
        return replace(self, entries=entries)

    def number_places(self) -> np.ndarray:
        """Number the windows and groups that the entries belong to, as results tell them apart; one may have several
        entries."""
        places = np.stack([self.windows.keys(self.entries.window), self.entries.group], axis=1)
        return np.unique(places, axis=0, return_inverse=True)[1].reshape(-1)


def lay_out(task: PartitionTask) -> CountedTrends:
    """Find the pieces of a task's rows, and number groups and windows."""
    pieces = task.inputs.pieces(task.plan.template)
    groups, columns = task.number_groups([piece.segments for piece in pieces])
    return CountedTrends(task, pieces, groups, columns, task.number_windows(pieces, groups), WindowEntries.join([]))


def count_trends(counted: CountedTrends) -> CountedTrends:
    """Count the trends of a task's rows as aggregates are counted; also where only complete ones are wanted, as only
    windows that have any are of interest."""
    entries = []
    for piece, group, offset in zip(counted.pieces, counted.groups, counted.first_segments[:-1], strict=True):
        found = counted.task.aggregate_piece(piece, group, counted.windows)
        counts = found.components[0].values
        entries.append(WindowEntries(found.group + offset, found.window, group[found.group], counts))
    return counted.with_entries(WindowEntries.join(entries))


def join_arrays(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Put arrays one after the other; no arrays are no numbers."""
    return np.concatenate(parts) if parts else np.empty(0, np.int64)
