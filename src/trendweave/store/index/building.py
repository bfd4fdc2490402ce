"""Making the indexes that the files of a store lack."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa

from trendweave.errors import DataError
from trendweave.store.index.light import build_light, own_schema
from trendweave.store.index.secondary import build_secondary
from trendweave.store.index.shelf import Shelf
from trendweave.store.layout.files import DataFile, locate
from trendweave.store.layout.reading import OpenFiles, RowReader

#: Is told the name of a file and how many more of its rows are done.
Told = Callable[[str, int], None]


def build_indexes(
    shelf: Shelf,
    files: OpenFiles,
    chosen: Sequence[tuple[DataFile, bool]],
    columns: Sequence[str] = (),
    told: Told | None = None,
    events_per_block: int | None = None,
) -> None:
    """Write indexes of some files.

    Args:
        shelf: Where they lie.
        files: Opens data files.
        chosen: The files, and whether each has a light index already.
        columns: Columns to sort entries by.
        told: Is told how far it is.
        events_per_block: About how many events a block has.
    """
    there = shelf.list()
    for file, has_light in chosen:
        try:
            _build(shelf, RowReader(files, file, pa.schema([])), there, has_light, columns, told, events_per_block)
        except (DataError, OSError):
            if shelf.place.exists(locate(shelf.place, file)):
                raise
            # Another process has replaced the file and swept it away: it needs no index.


def _build(
    shelf: Shelf,
    reader: RowReader,
    there: Mapping[str, int],
    has_light: bool,
    columns: Sequence[str],
    told: Told | None,
    events_per_block: int | None,
) -> None:
    file = reader.file
    if shelf.time not in own_schema(reader.files.parquet(file)).names:
        return  # its time is the name of a folder
    if not has_light:
        made = build_light(reader, shelf.time, _about(told, file.name), events_per_block)
        shelf.write(file, shelf.light_name(file), *made)
    for column in columns:
        name = shelf.secondary_name(file, column)
        if name in there and shelf.load(file, name) is not None:
            continue
        if (entries := build_secondary(reader, shelf.time, column)) is not None:
            shelf.write(file, name, *entries)


def _about(told: Told | None, name: str) -> Callable[[int], None] | None:
    return None if told is None else lambda rows: told(name, rows)
