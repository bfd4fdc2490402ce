"""A stream of Spark into a store, exactly once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trendweave.rows.given_times.units import TimeUnit
    from trendweave.store.event_store import EventStore


class Sink:
    """For `writeStream.foreachBatch`: each batch is added once, however often Spark hands it over.

    A batch is known by the name of the sink and its number, which Spark keeps in the checkpoint of the query.
    """

    def __init__(
        self, store: EventStore, name: str, time_unit: TimeUnit | None = None, time_format: str | None = None
    ) -> None:
        self._store, self._name = store, name
        self._time_unit, self._time_format = time_unit, time_format

    def __call__(self, frame: Any, number: int) -> None:
        self._store.append(frame, (self._name, number), self._time_unit, self._time_format)
