"""Looking after a store: what is in it, whether all is well, and what can be swept away."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs

from trendweave.errors import DataError
from trendweave.rows.times import as_times
from trendweave.store.index.files import ArrayFile, DamagedIndex
from trendweave.store.index.light import build_light
from trendweave.store.layout.commits import (
    REPLACED,
    STAGING,
    is_own_name,
    list_files,
    load_commits,
    settle,
    staged_name,
)
from trendweave.store.layout.places import OWN_FOLDER, Place
from trendweave.store.layout.reading import RowReader
from trendweave.store.snapshot import Snapshot


@dataclass(frozen=True)
class Description:
    """What a store is. Printed, it reads as a few lines.

    Attributes:
        address: Where it lies.
        files: How many data files.
        indexed: How many of them have a light index.
        rows: How many rows; the rows of files are counted, events or not.
        blocks: How many blocks.
        data_bytes: The size of the data.
        light_bytes: The size of the light index.
        entry_bytes: The size of entries sorted by columns.
        entries: Columns that entries are sorted by, and how many files have such.
        first: The first time, None where there is no event or it is not known.
        last: The last time.
    """

    address: str
    files: int
    indexed: int
    rows: int
    blocks: int
    data_bytes: int
    light_bytes: int
    entry_bytes: int
    entries: dict[str, int]
    first: object
    last: object

    def __str__(self) -> str:
        share = 100 * self.light_bytes / max(1, self.data_bytes)
        lines = [
            f"{self.address}: {self.rows:,} rows in {self.files:,} files, {self.data_bytes:,} bytes",
            f"  time: {self.first} to {self.last}",
            f"  light index: {self.indexed:,} of {self.files:,} files, {self.blocks:,} blocks, "
            f"{self.light_bytes:,} bytes ({share:.1f}% of the data)",
        ]
        lines += [f"  entries by {column}: {number:,} files" for column, number in self.entries.items()]
        return "\n".join(lines)


def describe(store: Snapshot) -> Description:
    """Tell what a store is."""
    sizes = store.shelf.list()
    entries: dict[str, int] = {}
    for file in store.files:
        for column in store.shelf.columns(sizes, file):
            entries[column] = entries.get(column, 0) + 1
    own = {store.shelf.light_name(file) for file in store.files}
    by_column = {store.shelf.secondary_name(file, column) for file in store.files for column in entries}
    blocks = store.blocks
    exact = bool(blocks.size and blocks.exact.all())
    edges = as_times(np.array([blocks.first.min(), blocks.last.max()]), store.kind).to_pylist() if exact else [None] * 2
    return Description(
        store.place.address,
        len(store.files),
        sum(light is not None for light in store.light),
        int(store.groups.rows.sum()),
        blocks.size,
        sum(file.size for file in store.files),
        sum(size for name, size in sizes.items() if name in own),
        sum(size for name, size in sizes.items() if name in by_column),
        dict(sorted(entries.items())),
        *edges,
    )


@dataclass(frozen=True)
class Verified:
    """What `verify` found.

    Attributes:
        files: How many data files were looked at.
        indexes: How many index files are whole and belong to their data.
        problems: What is wrong, in sentences. Missing indexes are no problem.
    """

    files: int
    indexes: int
    problems: tuple[str, ...]

    @property
    def is_well(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def verify(store: Snapshot, deep: bool = False, told: Callable[[str, int], None] | None = None) -> Verified:
    """Look at all files: data can be opened, indexes are whole and belong to it.

    Args:
        store: What is looked at.
        deep: Make each light index anew and compare it.
        told: Is told which file is done.
    """
    problems: list[str] = []
    whole = 0
    names = store.shelf.list()
    for file in store.files:
        try:
            store.open_files.parquet(file)
        except DataError as error:
            problems.append(error.problems[0].message)
            continue
        own = [store.shelf.light_name(file)]
        own += [store.shelf.secondary_name(file, column) for column in store.shelf.columns(names, file)]
        for name in own:
            if name not in names:
                continue
            try:
                source = ArrayFile(store.place, name)
                store.shelf.compare(file, source)
                for key in source.names:
                    source.array(key)
                if deep and name == own[0]:
                    _compare_light(store, RowReader(store.open_files, file, pa.schema([])), source)
                whole += 1
            except DamagedIndex as error:
                problems.append(f"the index {error}")
        if told is not None:
            told(file.name, 1)
    return Verified(len(store.files), whole, tuple(problems))


def _compare_light(store: Snapshot, reader: RowReader, source: ArrayFile) -> None:
    events = source.facts.get("events_per_block")
    facts, arrays = build_light(reader, store.time, None, events)
    same = set(arrays) == set(source.names) and all(
        np.array_equal(array.view(np.uint8), source.array(name).view(np.uint8)) for name, array in arrays.items()
    )
    if not same or any(source.facts.get(key) != value for key, value in facts.items() if key != "pace"):
        raise DamagedIndex(f"{source.name}: it does not say what the data says")


def vacuum(place: Place, store: Snapshot, older_than: float) -> list[str]:
    """Remove what no reader needs: appends that were never finished, files that were replaced, indexes without data.

    Args:
        place: The folder of the store.
        store: Its files.
        older_than: In seconds; younger files may be those of somebody at work.

    Returns:
        The names of the files that were removed.
    """
    settle(place)
    limit = clock.time_ns() - int(older_than * 1e9)
    removed = []
    for info in _swept(place, store):
        if (info.mtime_ns or 0) <= limit:
            place.delete(place.relative(info.path))
            removed.append(place.relative(info.path))
    return sorted(removed)


def _swept(place: Place, store: Snapshot) -> Iterator[pafs.FileInfo]:
    commits = load_commits(place)
    recorded = {name for commit in commits for name in commit.files}
    recorded -= {name for commit in commits for name in commit.removed}
    staged = {staged_name(commit.number, name) for commit in commits for name in commit.files}
    belongs = {file.name for file in list_files(place)} | {file.name for file in store.files}
    for info in place.list(deep=True):
        name = place.relative(info.path)
        if info.type != pafs.FileType.File:
            continue
        data = store.shelf.data_name(name)
        if (
            (name.startswith(f"{STAGING}/") and name not in staged)
            or name.startswith(f"{REPLACED}/")
            or (name.startswith(f"{OWN_FOLDER}/") and name.endswith(".tmp"))
            or (data is not None and data not in belongs)
            or (is_own_name(name) and name not in recorded)
        ):
            yield info
