"""Metrics of a run: an object that the caller makes and the host fills."""

from __future__ import annotations

from typing import Any

from trendweave.programs.shared.unit import COUNTED, SharingMetrics


class Metrics:
    """Metrics of one run: `run(events, metrics=metrics)`, then `metrics.get` and `metrics.sharing`.

    On Spark they are there after the first action on the result. `rows`, `null_time`, `null_type`, `other_type`: rows
    read, and dropped by reason. `same_time`: events with the timestamp of another event of their partition, without
    columns (`order_by`) that order them; for each kind of partitions that queries have. `trends`: trends (or
    matches) found, as a float, in all windows and groups together (Spark only). `peak_rows`: events of the largest key
    (in its time chunk); None if there is no result (Spark only).

    Attributes:
        sharing: What the queries of a workload shared; zeros for a query alone.
        observations: Those of Spark, where a run on it has them.
    """

    def __init__(self) -> None:
        self._sharing = SharingMetrics()
        self.observations: tuple[Any, ...] = ()
        self._counts: dict[str, Any] = {}

    @property
    def get(self) -> dict[str, Any]:
        """The counts by name. On Spark it waits for the first action on the result."""
        counts = dict(self._counts)
        for observation in self.observations:
            counts |= observation.get
        return counts

    @property
    def sharing(self) -> SharingMetrics:
        """What the queries of a workload shared. On Spark it waits for the first action on the result."""
        if self.observations:
            counts = self.get
            for name in COUNTED:
                setattr(self._sharing, name, counts.get(name, 0))
        return self._sharing

    def count(self, counts: dict[str, Any]) -> None:
        """Take counts of a run in this process."""
        self._counts |= counts
