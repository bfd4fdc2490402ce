"""The files of a store at one moment: their row groups, blocks and entries, and the rows themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from trendweave.errors import DataError, Problem, near_names
from trendweave.rows.times import TimeType, as_steps, has_time, time_type
from trendweave.store.aggregate.costs import Costs, load_costs
from trendweave.store.aggregate.tree import Tree
from trendweave.store.index.blocks import Blocks
from trendweave.store.index.building import FileGroups
from trendweave.store.index.files import DamagedIndex, Shelf, tell_of_damage
from trendweave.store.index.light import LightIndex
from trendweave.store.index.secondary import Estimate, Hits, Lookups, SecondaryIndex, pair_up
from trendweave.store.layout.files import DataFile, folder_types, unite
from trendweave.store.layout.places import Place
from trendweave.store.layout.reading import OpenFiles, RowReader

#: Files that are asked for at once where they are not local.
_REQUESTS = 16


@dataclass(frozen=True)
class RowGroups:
    """The row groups of all files, in the order of files and of row groups in them.

    Attributes:
        file: The number of the file.
        group: The row group in it.
        start: The row of the file with which it begins.
        rows: How many rows it has.
        bytes: How many bytes it takes in the file.
    """

    file: np.ndarray
    group: np.ndarray
    start: np.ndarray
    rows: np.ndarray
    bytes: np.ndarray


class Snapshot:
    """The files of a store as they were when it was opened, and the indexes beside them.

    Attributes:
        place: The folder.
        time: The column of the time.
        type: The column of the type; None where all events are of one.
        keys: The columns that events are brought together by.
        files: The data files; the number of a file is its place here.
    """

    def __init__(
        self,
        place: Place,
        files: Sequence[DataFile],
        time: str,
        type: str | None,
        keys: Sequence[str],
        declared: pa.Schema | None = None,
    ) -> None:
        self._declared = pa.schema([]) if declared is None else declared
        self.place, self.time, self.type, self.keys = place, time, type, tuple(keys)
        self.files = tuple(files)
        self.shelf = Shelf(place, time)
        self.open_files = OpenFiles(place)
        self._dropped: set[int] = set()
        self._lookups: dict[str, Lookups] = {}

    def check_columns(self, names: Sequence[str]) -> None:
        """Raise a DataError that names all columns that the store has not."""
        known = self.schema.names
        problems = [
            Problem("TW301", f"the store has no column {name}", near_names(name, known))
            for name in names
            if name not in known
        ]
        if problems:
            raise DataError(problems)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of all files, and those of their folders."""
        parts: list[tuple[str, pa.Schema]] = [
            ("the store", self._declared),
            *((file.name, part.schema) for file, part in zip(self.files, self._schemas, strict=True)),
        ]
        said = {field.name: field.type for field in self._declared}
        folders = {name: said.get(name, kind) for name, kind in folder_types(self.files).items()}
        if folders:
            of_files = unite(parts)
            kept = pa.schema([field for field in of_files if field.name not in folders])
            parts = [("", kept), ("", pa.schema(folders))]
        return unite(parts)

    @cached_property
    def kind(self) -> TimeType:
        """How the time column counts."""
        return time_type(self.schema.field(self.time).type)

    def check_time(self) -> None:
        """Raise a DataError where the time column is no timestamp and no number."""
        own = self.schema.field(self.time).type
        if not (pa.types.is_timestamp(own) or pa.types.is_integer(own) or pa.types.is_floating(own)):
            message = f"the time column {self.time} is {own}"
            raise DataError([Problem("TW303", message, "name a timestamp, or a number of seconds, with time=")])

    @cached_property
    def light(self) -> list[LightIndex | None]:
        """The light index of each file; None where there is none that is believed."""
        names = self.shelf.list()
        if self.place.is_local:
            return [self._load_light(file, names) for file in self.files]
        with ThreadPoolExecutor(_REQUESTS) as pool:
            return list(pool.map(lambda file: self._load_light(file, names), self.files))

    def _load_light(self, file: DataFile, names: Mapping[str, int]) -> LightIndex | None:
        name = self.shelf.light_name(file)
        source = self.shelf.load(file, name) if name in names else None
        try:
            return None if source is None else LightIndex(source)
        except (DamagedIndex, KeyError) as error:
            tell_of_damage(DamagedIndex(f"{name}: {error}"))
            return None

    @cached_property
    def _schemas(self) -> list[LightIndex | _OwnSchema]:
        return [
            _OwnSchema(RowReader(self.open_files, file, pa.schema([]))) if light is None else light
            for file, light in zip(self.files, self.light, strict=True)
        ]

    @cached_property
    def _parts(self) -> list[LightIndex | FileGroups]:
        """Per file its index, or what its footer says."""
        own_times = [part.schema.field(self.time).type if self.time in part.schema.names else None
                     for part in self._schemas]  # fmt: skip
        return [
            light
            if light is not None and own == self.kind.arrow
            else FileGroups(self.open_files.parquet(file), self.time, self.kind, dict(file.folders))
            for file, light, own in zip(self.files, self.light, own_times, strict=True)
        ]

    @cached_property
    def groups(self) -> RowGroups:
        """All row groups."""
        rows = [part.rows for part in self._parts]
        none = np.empty(0, np.int64)
        return RowGroups(
            np.repeat(np.arange(len(rows), dtype=np.int32), [own.size for own in rows]),
            np.concatenate([none, *(np.arange(own.size) for own in rows)]).astype(np.int32),
            np.concatenate([none, *(np.cumsum(own) - own for own in rows)]),
            np.concatenate([none, *rows]),
            np.concatenate([none, *(part.bytes for part in self._parts)]),
        )

    @cached_property
    def blocks(self) -> Blocks:
        """All blocks, in order of time."""
        sizes = np.array([part.rows.size for part in self._parts], np.int64)
        folders = [dict(file.folders) for file in self.files]
        return Blocks(self._parts, folders, np.cumsum(sizes) - sizes, self.schema, self.kind, self._drop)

    @cached_property
    def file_rows(self) -> np.ndarray:
        """How many rows each file has."""
        return np.bincount(self.groups.file, self.groups.rows, len(self.files)).astype(np.int64)

    @cached_property
    def file_times(self) -> tuple[np.ndarray, np.ndarray]:
        """The first and the last time of the events of each file; where it has none, the first is behind the last."""
        return self.blocks.times_of(self.blocks.file, len(self.files))

    @cached_property
    def group_times(self) -> tuple[np.ndarray, np.ndarray]:
        """The same of each row group."""
        return self.blocks.times_of(self.blocks.number, self.groups.rows.size)

    @cached_property
    def pace(self) -> np.ndarray:
        """int64[files, 2]: the shortest and the longest time between neighbours, of files whose events stand in
        strictly ascending order of time and all have one; -1 of others, and where that is not known."""
        found = [part.pace if isinstance(part, LightIndex) else (-1, -1) for part in self._parts]
        return np.array(found, np.int64).reshape(-1, 2)

    def _drop(self, number: int, error: DamagedIndex) -> None:
        """An index turned out to be damaged: it is told of once."""
        if number not in self._dropped:
            self._dropped.add(number)
            tell_of_damage(error)

    def has_secondary(self, column: str) -> np.ndarray:
        """Which files have entries sorted by a column."""
        names = self._index_names
        return np.array([self.shelf.secondary_name(file, column) in names for file in self.files], np.bool_)

    @cached_property
    def _index_names(self) -> dict[str, int]:
        return self.shelf.list()

    def lookup(self, column: str, *comparisons: Any, in_order: bool = True) -> Hits:
        """Events by a value of theirs, from the entries of files that have some.

        Args:
            column: An indexed column.
            comparisons: Operators and values by turns: `lookup("price", ">=", 3, "<", 5)`.
            in_order: By time, file and row; else in any order, which is quicker.
        """
        return self._lookup(column).find(pair_up(self.schema.field(column).type, column, comparisons), in_order)

    def estimate(self, column: str, *comparisons: Any) -> Estimate:
        """How many events a lookup finds, without reading their entries."""
        return self._lookup(column).estimate(pair_up(self.schema.field(column).type, column, comparisons))

    def _lookup(self, column: str) -> Lookups:
        self.check_columns([column])
        if column not in self._lookups:
            there = self.has_secondary(column)
            loaded = [
                self.shelf.load(file, self.shelf.secondary_name(file, column)) if has else None
                for file, has in zip(self.files, there, strict=True)
            ]
            wanted = str(self.schema.field(column).type)
            indexes = [
                SecondaryIndex(source) if source is not None and source.facts.get("type") == wanted else None
                for source in loaded
            ]
            self._lookups[column] = Lookups(self.schema.field(column).type, indexes)
        return self._lookups[column]

    def read(
        self,
        numbers: Sequence[int] | np.ndarray | None = None,
        columns: Sequence[str] | None = None,
        between: tuple[int | None, int | None] | None = None,
    ) -> pa.Table:
        """Rows of some row groups.

        Args:
            numbers: Which of `groups`; all where it is left out.
            columns: Which columns; all where it is left out.
            between: Only events from the first time on and before the second one, in steps; None for no bound. Rows
                without a time are left out then.

        Returns:
            The rows in the order of files, row groups and rows, in the columns of the store.
        """
        names = list(self.schema.names if columns is None else columns)
        self.check_columns(names)
        groups = self.groups
        chosen = np.arange(groups.file.size) if numbers is None else np.unique(np.asarray(numbers, np.int64))
        needed = names if between is None or self.time in names else [*names, self.time]
        tables = []
        for number in np.unique(groups.file[chosen]):
            own = chosen[groups.file[chosen] == number]
            reader = RowReader(self.open_files, self.files[number], self.schema)
            table = reader.read(groups.group[own].tolist(), needed)
            tables.append(self._within(table, between).select(names))
        wanted = pa.schema([self.schema.field(name) for name in names])
        return pa.concat_tables(tables) if tables else wanted.empty_table()

    def _within(self, table: pa.Table, between: tuple[int | None, int | None] | None) -> pa.Table:
        if between is None:
            return table
        known = np.asarray(has_time(table.column(self.time)))
        table = table if known.all() else table.filter(pa.array(known))
        times = as_steps(table.column(self.time), self.kind)
        first, end = between
        inside = np.ones(times.size, np.bool_)
        if first is not None:
            inside &= times >= first
        if end is not None:
            inside &= times < end
        return table if inside.all() else table.filter(pa.array(inside))

    @cached_property
    def tree(self) -> Tree:
        """The tree over all blocks."""
        return Tree(self.blocks)

    @cached_property
    def costs(self) -> Costs:
        """What reading costs here, as `calibrate` measured it."""
        return load_costs(self.place)


class _OwnSchema:
    """The columns of a file without an index."""

    def __init__(self, reader: RowReader) -> None:
        self._reader = reader

    @cached_property
    def schema(self) -> pa.Schema:
        """As Arrow reads them."""
        return pa.schema(list(self._reader.files.parquet(self._reader.file).schema_arrow))
