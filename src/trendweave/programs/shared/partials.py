"""Parts of many results as rows of one kind: where they meet, and an Arrow table as bytes.

All members that are merged by the same values meet by slot: the merger and a hash of those values. So a place that
brings parts together needs to know nothing about queries, and moves few, large rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
import pyarrow as pa

from trendweave.programs.program import PartialResults, Scope
from trendweave.programs.shared.columns import NamedRows
from trendweave.programs.shared.rows import SharedRows
from trendweave.programs.shared.unit import Found, Given, Part, Unit
from trendweave.rows.arrow_bytes import as_stream, from_stream
from trendweave.rows.hashing import hash_rows

SLOT, PAYLOAD = "slot", "payload"
SCHEMA = pa.schema([(SLOT, pa.int32()), ("member", pa.int32()), (PAYLOAD, pa.large_binary()), ("filter", pa.string())])
#: Into how many slots the parts of a merger are cut, so that several tasks can merge them.
_SLOTS = 32
#: In place of a member: parts that are to be merged, and final rows of several members.
_TO_MERGE, _MIXED = -1, -2


@dataclass(frozen=True)
class SharedParts:
    """Parts of all units of a workload. `telling` says in errors whose they are."""

    units: tuple[Unit, ...]
    named: NamedRows
    share: Callable[[pa.Table], SharedRows]
    telling: Callable[[int], AbstractContextManager[None]]
    keep: Callable[[str, Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

    def compute(self, rows: pa.Table, scope: Scope) -> pa.Table:
        shared = self.share(rows)
        given = ((number, self._parts(number, shared, scope)) for number in range(len(self.units)))
        return self.write(given)

    def _parts(self, number: int, rows: SharedRows, scope: Scope) -> Iterator[Given]:
        with self.telling(number):
            yield from self.units[number].parts(rows, scope)

    def write(self, given: Iterable[tuple[int, Iterable[Given]]], row_filter: str | None = None) -> pa.Table:
        """Parts of units, by their numbers, as rows; a filter leaves out rows when they are merged."""
        slots: list[int] = []
        members: list[int] = []
        payloads: list[bytes] = []
        for number, parts in given:
            for part in parts:
                if not part.table.num_rows:
                    continue
                if isinstance(part, Found):
                    slots.append(self._slot(number, 0, len(payloads) % _SLOTS))
                    members.append(_MIXED if part.member is None else part.member)
                    payloads.append(as_stream(part.table))
                    continue
                for slot, table in self._cut(number, part):
                    slots.append(slot)
                    members.append(_TO_MERGE)
                    payloads.append(as_stream(table))
        filters = pa.array([row_filter] * len(slots), pa.string())
        return pa.table([pa.array(slots, pa.int32()), pa.array(members, pa.int32()), payloads, filters], schema=SCHEMA)

    @cached_property
    def _mergers(self) -> list[tuple[PartialResults | None, ...]]:
        return [unit.mergers() for unit in self.units]

    @cached_property
    def _mergers_before(self) -> list[int]:
        """How many mergers the units before each have."""
        return list(accumulate(map(len, self._mergers), initial=0))

    def _slot(self, unit: int, merger: int, place: int) -> int:
        return (self._mergers_before[unit] + merger) * _SLOTS + place

    def _cut(self, number: int, part: Part) -> Iterator[tuple[int, pa.Table]]:
        merger = self._mergers[number][part.merger]
        assert merger is not None, "final rows say whose they are"
        if not merger.together:
            yield self._slot(number, part.merger, 0), part.table
            return
        columns = [part.table.column(name) for name in merger.together]
        places = (hash_rows(columns, part.table.num_rows) % np.uint64(_SLOTS)).astype(np.int64)
        for place in np.unique(places):
            own = places == place
            yield self._slot(number, part.merger, int(place)), part.table.filter(pa.array(own))

    def merge(self, parts: pa.Table, scope: Scope) -> pa.Table:
        batches: list[pa.RecordBatch] = []
        to_merge: dict[tuple[int, int, str | None], list[pa.Table]] = {}
        owners = [(unit, merger) for unit, mergers in enumerate(self._mergers) for merger in range(len(mergers))]
        columns = (parts.column(name).to_pylist() for name in SCHEMA.names)
        for slot, member, payload, row_filter in zip(*columns, strict=True):
            table = from_stream(payload)
            if member == _TO_MERGE:
                to_merge.setdefault((*owners[slot // _SLOTS], row_filter), []).append(table)
            else:
                batches += self._write_rows(Found(table, None if member == _MIXED else member), row_filter)
        for (unit, merger, row_filter), pieces in to_merge.items():
            with self.telling(unit):
                merged = self.units[unit].merge(merger, pa.concat_tables(pieces), scope)
                batches += self._write_rows(merged, row_filter)
        return pa.Table.from_batches(batches) if batches else self.named.schema.empty_table()

    def _write_rows(self, found: Found, row_filter: str | None) -> Iterator[pa.RecordBatch]:
        rows = self.named.write(found)
        return rows if row_filter is None else self.keep(row_filter, rows)
