"""What a folding program carries on, in Spark's state store: one value per table.

A micro-batch changes the tables of the panes that its rows lie in. So tables are read when they are asked for, and
those that are the same as before are not written again.
"""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from trendweave.errors import DataError, Problem
from trendweave.programs.carry import StoredTables
from trendweave.programs.program import Carry
from trendweave.rows.arrow_bytes import as_stream, from_stream
from trendweave.runners.spark.stream_state import CONTENT, TEXT, struct_of

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

#: Under this name there is the list of all others: to list the keys of a map, Spark reads the whole map.
_NAMES = ""


class TableState:
    """The tables of a bucket."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._values = handle.getMapState("tables", struct_of(name=TEXT), CONTENT)

    def read(self) -> Carry:
        """The tables that are there; none is read yet."""
        stored = self._values.getValue((_NAMES,))
        return StoredTables([] if stored is None else json.loads(_check(stored)), self._read_table)

    def write(self, before: Carry, after: Carry) -> None:
        """What is carried on after `before`, which `read` gave."""
        for name in before:
            if name not in after:
                self._values.removeKey((name,))
        for name in _changed_names(before, after):
            self._put(name, as_stream(after[name]))
        if set(before) == set(after):
            return
        if after:
            self._put(_NAMES, json.dumps(sorted(after)).encode())
        else:
            self._values.removeKey((_NAMES,))

    def _put(self, name: str, content: bytes) -> None:
        self._values.updateValue((name,), (content, zlib.crc32(content)))

    def _read_table(self, name: str) -> pa.Table:
        stored = self._values.getValue((name,))
        if stored is None:
            raise _damaged(f"{name} is not there")
        return from_stream(_check(stored))


def _changed_names(before: Carry, after: Carry) -> list[str]:
    """The names of tables that are not the very objects of before."""
    there = after.at_hand() if isinstance(after, StoredTables) else after
    return [name for name, table in there.items() if name not in before or table is not before[name]]


def _check(stored: Any) -> bytes:
    content = bytes(stored[0])
    if zlib.crc32(content) != stored[1]:
        raise _damaged("its checksum is wrong")
    return content


def _damaged(reason: str) -> DataError:
    hint = "restart from an intact checkpoint, or from the source with a new one"
    return DataError([Problem("TW311", f"the carried state is damaged: {reason}", hint)])
