"""What a page is told of a stream: numbers altogether, and the rows that are new."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from trendweave.serve.worker.cells import write_cell
from trendweave.serve.worker.job import Message

#: How often a page is told what happened, in seconds.
TELL = 0.25
#: Rows that a page is told at once; more are counted. Windows that are remembered, so that each is counted once.
_MOST_ROWS, _MOST_WINDOWS = 60, 256


@dataclass(slots=True)
class StreamNews:
    """What happened since the last message, and altogether; `several` says that rows name the query they are of."""

    is_alert: Callable[[dict[str, Any]], bool]
    total: int
    several: bool
    sent: int = 0
    rows: int = 0
    alerts: int = 0
    windows: int = 0
    per_query: dict[str, int] = field(default_factory=dict)
    new: list[dict[str, Any]] = field(default_factory=list)
    more: int = 0
    session: dict[str, Any] = field(default_factory=dict)
    last: float = field(default_factory=time.monotonic)
    rates: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=8))
    seen_windows: dict[Any, None] = field(default_factory=dict)

    def take(self, rows: pa.Table, events: int) -> None:
        """Rows that came out after some events."""
        self.sent += events
        self.rows += rows.num_rows
        for row in rows.to_pylist():
            if self.several:
                self.per_query[row["query"]] = self.per_query.get(row["query"], 0) + 1
            window = (row.get("window_start"), row.get("window_end"))
            if window != (None, None) and window not in self.seen_windows:
                self.seen_windows[window] = None
                self.windows += 1
                if len(self.seen_windows) > _MOST_WINDOWS:
                    self.seen_windows.pop(next(iter(self.seen_windows)))
            alert = self.is_alert(row)
            self.alerts += alert
            # Alerts find room even when rows have filled theirs.
            if len(self.new) < (2 * _MOST_ROWS if alert else _MOST_ROWS):
                self.new.append({"cells": [write_cell(value) for value in row.values()], "alert": alert})
            else:
                self.more += 1

    def is_due(self) -> bool:
        """Whether the page waits for news."""
        return time.monotonic() - self.last >= TELL

    def look(self, session: Any) -> None:
        """Where a session stands."""
        dropped = session.dropped
        self.session = {
            "watermark": write_cell(session.watermark),
            "late": session.late,
            "dropped": dropped.null_time + dropped.null_type + dropped.other_type,
        }

    def tell(self) -> Message:
        """What a page shows; new rows are told once."""
        now = time.monotonic()
        self.rates.append((now, self.sent))
        (first, before), self.last = self.rates[0], now
        rate = (self.sent - before) / (now - first) if now > first else 0.0
        new, self.new = self.new, []
        more, self.more = self.more, 0
        return {
            "event": "tick",
            **self.session,
            "sent": self.sent,
            "total": self.total,
            "rate": round(rate, 1),
            "rows": self.rows,
            "alerts": self.alerts,
            "windows": self.windows,
            "queries": self.per_query,
            "new": new,
            "more": more,
        }
