"""What is carried from piece to piece, as bytes: one format, with a version and an owner, for every kind of query."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from trendweave.errors import DataError, Problem
from trendweave.programs.program import Carry
from trendweave.rows.arrow_bytes import as_stream, from_stream

#: Written into everything that is carried; bytes of another version are refused. Where rows were folded they are gone:
#: releases that would look for them do not know the later versions. The third had largest values and sums of floats in
#: other columns.
VERSION, FOLDED_VERSION = 2, 4
#: How the names of tables begin that stand for rows.
FOLDED = "folded "
_METADATA = b"trendweave.carry"
#: Where version 1 told about itself, before there was one format.
_VERSION_1 = (b"trendweave.state", b"trendweave.interval_state", b"trendweave.open_runs")
_PARTS = pa.schema([("name", pa.string()), ("content", pa.large_binary())])


class StoredTables(Mapping[str, pa.Table]):
    """Tables by name, each read when it is first asked for, and the same object from then on."""

    def __init__(self, names: Iterable[str], load: Callable[[str], pa.Table]) -> None:
        self._load = load
        self._tables: dict[str, pa.Table | None] = dict.fromkeys(names)

    def __getitem__(self, name: str) -> pa.Table:
        table = self._tables[name]
        if table is None:
            table = self._tables[name] = self._load(name)
        return table

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __contains__(self, name: object) -> bool:
        return name in self._tables

    def keep(self, names: Iterable[str], others: Carry) -> StoredTables:
        """Some of the tables, read or not, with others beside them."""
        kept = StoredTables((), self._load)
        kept._tables = {name: self._tables[name] for name in names} | dict(others)
        return kept

    def at_hand(self) -> Carry:
        """The tables that were read, or are others."""
        return {name: table for name, table in self._tables.items() if table is not None}


def keep_tables(carry: Carry, names: Iterable[str], others: Carry) -> Carry:
    """Some tables of a carry with others beside them; none of them is read."""
    if isinstance(carry, StoredTables):
        return carry.keep(names, others)
    return {name: carry[name] for name in names} | dict(others)


def carry_of(carry: Carry, prefix: str) -> Carry:
    """What is carried of one part of a program, under its own names."""
    return {name.removeprefix(prefix): table for name, table in carry.items() if name.startswith(prefix)}


def name_carry(carry: Carry, prefix: str) -> dict[str, pa.Table]:
    """The inverse: names of a part as the whole has them."""
    return {prefix + name: table for name, table in carry.items()}


def check_owner(found: str, wanted: str) -> None:
    """Raise DataError where a state is somebody else's."""
    if found != wanted:
        message = "the state was made for another query, or for events with other columns"
        raise DataError(
            [
                Problem(
                    "TW311", message, "resume with the query and the release that made it, or start with an empty state"
                )
            ]
        )


def write_carry(tables: Carry, owner: str, facts: Mapping[str, Any] | None = None) -> bytes:
    """Tables by name and facts as one Arrow stream."""
    folded = any(FOLDED in name for name in tables)
    about = {"version": FOLDED_VERSION if folded else VERSION, "owner": owner, **(facts or {})}
    columns = {"name": list(tables), "content": [as_stream(table) for table in tables.values()]}
    parts = pa.table(columns, schema=_PARTS)
    # In steps of 64 bytes, so that a state does not grow with the digits of its counts.
    text = json.dumps(about)
    padded = text.ljust(-(-len(text) // 64) * 64)
    return as_stream(parts.replace_schema_metadata({_METADATA: padded.encode()}))


def read_carry(data: bytes) -> tuple[Carry, str, dict[str, Any]]:
    """Tables, owner and facts of bytes that `write_carry` made.

    Raises:
        DataError: They are damaged, or of another version (TW311).
    """
    try:
        parts = from_stream(data)
        metadata = parts.schema.metadata or {}
        is_first = any(name in metadata for name in _VERSION_1)
        about: dict[str, Any] = {"version": 1} if is_first else json.loads(metadata[_METADATA])
        tables = {} if is_first else {row["name"]: from_stream(row["content"]) for row in parts.to_pylist()}
    except (pa.ArrowException, KeyError, ValueError, OSError) as error:
        problem = Problem("TW311", f"the state cannot be read: {error}", "start from an empty state")
        raise DataError([problem]) from error
    if not VERSION <= about["version"] <= FOLDED_VERSION:
        message = f"the state has version {about['version']}, this release reads version {FOLDED_VERSION}"
        raise DataError([Problem("TW311", message, "run it with the release that wrote it")])
    return tables, about["owner"], about
