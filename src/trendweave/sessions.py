"""Sessions of trend queries, for all kinds of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trendweave.results.aggregate_table import Numbers
    from trendweave.runners.incremental import Incremental
    from trendweave.runners.session import PushSession


class Pushed(ABC):
    """A query that runs piece by piece can be pushed event by event."""

    __slots__ = ()

    @abstractmethod
    def incremental(
        self, events: Any, time: str = "time", type: str | None = "type", *, numbers: Numbers = "decimal"
    ) -> Incremental:
        """The engine behind a session."""

    def push(
        self,
        events: Any,
        time: str = "time",
        type: str | None = "type",
        *,
        watermark: str = "0 seconds",
        numbers: Numbers = "decimal",
        state: bytes | None = None,
    ) -> PushSession:
        """A session that takes events one by one; `events` is their schema, or a table that has it.

        `send(event)` takes a mapping and gives the rows of the windows that it closes, `send_table` takes a table,
        `finish()` gives the rest. Events may be behind the latest one by `watermark`. `state` goes on with a session
        that another process left with `session.state()`.
        """
        from trendweave.runners.session import PushSession

        return PushSession(self.incremental(events, time, type, numbers=numbers), watermark, state)
