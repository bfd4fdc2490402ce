"""What an interval query keeps between pieces of a stream: situations of the last window, open runs, rows that wait."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

import pyarrow as pa

from trendweave.errors import DataError, Problem
from trendweave.rows.arrow_bytes import as_stream, from_stream
from trendweave.rows.dropped import NOTHING_DROPPED, Dropped

#: Written into every state; a state of another version is refused.
STATE_VERSION = 1
_METADATA = b"trendweave.interval_state"
_TABLES = ("pending", "last", "partitions", "situations", "counts")


@dataclass(frozen=True, slots=True)
class IntervalState:
    """`pending` rows are not before the watermark. `partitions` holds keys, open runs and since when they run;
    `situations` those that a later match can have, with what their events told so far; `last` the rows of each
    partition's last step, where conditions look back; `counts` the matches of windows that are still open.

    Everything but one row per partition is bounded by the window.
    """

    pending: pa.Table | None = None
    last: pa.Table | None = None
    partitions: pa.Table | None = None
    situations: pa.Table | None = None
    counts: pa.Table | None = None
    watermark: int | None = None
    late: int = 0
    dropped: Dropped = NOTHING_DROPPED
    made_for: str = ""

    @property
    def is_empty(self) -> bool:
        """Nothing that later events could have to do with."""
        parts = [getattr(self, name) for name in _TABLES]
        return not any(part.num_rows for part in parts if part is not None)

    def to_bytes(self) -> bytes:
        facts = {
            "version": STATE_VERSION,
            "watermark": self.watermark,
            "late": self.late,
            "dropped": asdict(self.dropped),
            "made_for": self.made_for,
        }
        parts = [(name, getattr(self, name)) for name in _TABLES if getattr(self, name) is not None]
        table = pa.table(
            {"name": [name for name, _ in parts], "content": [as_stream(part) for _, part in parts]},
            schema=pa.schema([("name", pa.string()), ("content", pa.large_binary())]),
        )
        return as_stream(table.replace_schema_metadata({_METADATA: json.dumps(facts).encode()}))

    @staticmethod
    def from_bytes(data: bytes) -> IntervalState:
        try:
            table = from_stream(data)
            facts = json.loads((table.schema.metadata or {})[_METADATA])
        except (pa.ArrowInvalid, KeyError, ValueError, OSError) as error:
            hint = "start from an empty state"
            raise DataError([Problem("TW311", f"the state cannot be read: {error}", hint)]) from error
        if facts["version"] != STATE_VERSION:
            message = f"the state has version {facts['version']}, this release reads version {STATE_VERSION}"
            raise DataError([Problem("TW311", message, "run it with the release that wrote it")])
        parts = {row["name"]: from_stream(row["content"]) for row in table.to_pylist()}
        dropped = Dropped(**facts["dropped"])
        return IntervalState(
            **parts, watermark=facts["watermark"], late=facts["late"], dropped=dropped, made_for=facts["made_for"]
        )
