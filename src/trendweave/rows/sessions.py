"""Sessions as windows: each holds its own rows and no others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trendweave.errors import DataError, Problem
from trendweave.planning.plan import SessionWindow
from trendweave.rows.times import TimeType, steps_of


@dataclass(frozen=True, slots=True)
class SessionNumbers:
    """Sessions are numbered by partition and time. `edges` are the first and the last time of each."""

    of_tick: np.ndarray
    edges: np.ndarray

    def first(self, tick: np.ndarray, group: np.ndarray) -> np.ndarray:
        return self.of_tick[tick]

    def last(self, tick: np.ndarray, group: np.ndarray) -> np.ndarray:
        return self.of_tick[tick]

    def keys(self, windows: np.ndarray) -> np.ndarray:
        """Their numbers; the rows of a task tell their edges."""
        return windows


def session_gap(window: SessionWindow, kind: TimeType) -> int:
    """The gap in steps of the time column."""
    return steps_of(window.gap, kind, "WITHIN SESSION")


def number_sessions(
    window: SessionWindow, kind: TimeType, steps: np.ndarray, partition_starts: np.ndarray
) -> SessionNumbers:
    """Number the sessions of some partitions.

    Args:
        window: The window of the plan.
        kind: How the time column counts.
        steps: Times by (partition, time).
        partition_starts: Where each partition begins.

    Returns:
        The numbers.

    Raises:
        DataError: A session would end outside of 64 bits.
    """
    gap = session_gap(window, kind)
    begins = np.ones(steps.size, np.bool_)
    # Unsigned, as times may be as far apart as 64 bits.
    begins[1:] = np.diff(steps.view(np.uint64)) >= np.uint64(gap)
    begins[partition_starts] = True
    at = np.flatnonzero(begins)
    edges = np.stack([steps[at], steps[np.append(at, steps.size)[1:] - 1]], axis=1)
    if edges.size and int(edges.max()) > np.iinfo(np.int64).max - gap:
        message = "times are out of range: a session would end outside of 64 bits"
        raise DataError([Problem("TW310", message, "remove broken times, or cast the time column to a coarser type")])
    return SessionNumbers(np.cumsum(begins) - 1, edges)
