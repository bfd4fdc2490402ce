"""What was said when a store was made: its columns, its keys, and how events are laid out."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pyarrow as pa

from trendweave.errors import DataError, Problem
from trendweave.store.layout.places import OWN_FOLDER, Place

_FILE = f"{OWN_FOLDER}/store.json"
VERSION = 1
#: Rows of a row group: the smallest piece that is read.
GROUP_ROWS = 16_384
#: Files that events are dealt out to by their keys.
BUCKETS = 8


@dataclass(frozen=True)
class Declaration:
    """How a store is laid out.

    Attributes:
        schema: The columns that it was made with; others may have been added since.
        time: The column of the time.
        type: The column of the type, or None.
        keys: The columns that bring events together; events with the same keys lie in one bucket.
        index: Columns that entries are sorted by.
        buckets: How many there are.
        group_rows: How many rows a row group has.
    """

    schema: pa.Schema
    time: str
    type: str | None = None
    keys: tuple[str, ...] = ()
    index: tuple[str, ...] = ()
    buckets: int = 1
    group_rows: int = GROUP_ROWS

    def save(self, place: Place) -> bool:
        """Write it; False where there is one already."""
        facts = {
            "version": VERSION,
            "schema": self.schema.serialize().to_pybytes().hex(),
            "time": self.time,
            "type": self.type,
            "keys": self.keys,
            "index": self.index,
            "buckets": self.buckets,
            "group_rows": self.group_rows,
        }
        return place.write_once(_FILE, json.dumps(facts, indent=1).encode())


def load_declaration(place: Place) -> Declaration | None:
    """What was said of a folder; None where nothing was.

    Raises:
        DataError: It cannot be read, or a later version wrote it.
    """
    if not place.exists(_FILE):
        return None
    try:
        facts = json.loads(place.read(_FILE))
        if facts.pop("version") != VERSION:
            raise ValueError("it is of another version")
        schema = pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(facts.pop("schema"))))
        keys, index = tuple(facts.pop("keys")), tuple(facts.pop("index"))
        return Declaration(schema, keys=keys, index=index, **facts)
    except (ValueError, KeyError, TypeError, pa.ArrowException) as error:
        message = f"{place.address}/{_FILE} cannot be read: {error}"
        raise DataError([Problem("TW331", message, "read the folder with other tools")]) from error
