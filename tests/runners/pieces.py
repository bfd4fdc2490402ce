"""A stream given to a session piece by piece, as tests against the reference twin do."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as hs

import trendweave
from tests.runners.reference_tables import rows_of, table_of


def in_pieces(asked: trendweave.Query, events: list[dict[str, Any]], data: hs.DataObject) -> list[dict[str, Any]]:
    """The rows of all pieces together; the watermark follows close behind."""
    in_order = sorted((event for event in events if event["time"] is not None), key=lambda event: event["time"])
    session = asked.incremental(table_of(events).schema)
    state = session.start()
    found: list[dict] = []
    while in_order:
        cut = data.draw(hs.integers(1, len(in_order)))
        piece, in_order = in_order[:cut], in_order[cut:]
        state, closed = session.push(state, table_of(piece), watermark=in_order[0]["time"] if in_order else None)
        found += rows_of(closed)
    return found + rows_of(session.finish(state))
