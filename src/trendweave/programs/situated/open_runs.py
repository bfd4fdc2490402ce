"""What is kept of events that a stream has let go, so that later ones can be told to lie in a situation."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pyarrow as pa

from trendweave.errors import DataError, Problem
from trendweave.rows.arrow_bytes import as_stream, from_stream

#: Written into every state; a state of another version is refused.
STATE_VERSION = 1
_METADATA = b"trendweave.open_runs"


@dataclass(frozen=True, slots=True)
class OpenRuns:
    """`partitions`: keys, the runs that go on, and since when. `last`: where conditions look back, the rows of each
    partition's last step. None where there is nothing to keep."""

    partitions: pa.Table | None = None
    last: pa.Table | None = None

    @property
    def is_empty(self) -> bool:
        return self.partitions is None and self.last is None

    def to_bytes(self) -> bytes:
        parts = [None if part is None else as_stream(part) for part in (self.partitions, self.last)]
        table = pa.table({"part": pa.array(parts, pa.large_binary())})
        facts = json.dumps({"version": STATE_VERSION}).encode()
        return as_stream(table.replace_schema_metadata({_METADATA: facts}))

    @staticmethod
    def from_bytes(data: bytes) -> OpenRuns:
        try:
            table = from_stream(data)
            version = json.loads((table.schema.metadata or {})[_METADATA])["version"]
        except (pa.ArrowException, KeyError, ValueError, OSError) as error:
            message = f"the open runs of a state cannot be read: {error}"
            raise DataError([Problem("TW311", message, "start from an empty state")]) from error
        if version != STATE_VERSION:
            message = f"the open runs of a state have version {version}, this release reads version {STATE_VERSION}"
            raise DataError([Problem("TW311", message, "run it with the release that wrote it")])
        parts = table.column("part").to_pylist()
        return OpenRuns(*(None if part is None else from_stream(part) for part in parts))


NO_RUNS = OpenRuns()
