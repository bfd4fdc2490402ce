"""Events into files: into buckets by their keys, in order of time, in row groups of modest size; and which files of a
bucket become one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from trendweave.errors import DataError, Problem, near_names, raise_problems
from trendweave.kernels.sorting import order_by_time
from trendweave.rows.hashing import hash_rows
from trendweave.rows.times import as_steps, has_time, time_type
from trendweave.store.layout.commits import staged_name
from trendweave.store.layout.files import DataFile, Declaration, plain_type, wider_type
from trendweave.store.layout.places import Place

#: A file that has as many rows is left alone, unless its times overlap those of another.
ENOUGH_ROWS = 4_000_000


@dataclass(frozen=True)
class Extent:
    """A file, with its rows and its first and last time; None where it has no event."""

    file: DataFile
    rows: int
    first: int | None
    last: int | None


def choose_files(extents: Sequence[Extent], enough: int = ENOUGH_ROWS) -> list[list[DataFile]]:
    """Files to merge, several at a time. Only those that `append` wrote, as others may be somebody's.

    Args:
        extents: All files of a store.
        enough: Small files are merged until they have so many rows.
    """
    buckets: dict[tuple[int, int], list[Extent]] = {}
    for extent in extents:
        if extent.file.bucket is not None:
            buckets.setdefault(extent.file.bucket, []).append(extent)
    chosen = []
    for _, own in sorted(buckets.items()):
        chosen += _of_bucket(own, enough)
    return [files for files in chosen if len(files) > 1]


def _of_bucket(extents: list[Extent], enough: int) -> list[list[DataFile]]:
    groups: list[list[DataFile]] = []
    rows, reach = 0, None
    for extent in sorted(extents, key=lambda one: (one.first is not None, one.first, one.file.name)):
        overlaps = reach is not None and extent.first is not None and extent.first <= reach
        if groups and (overlaps or rows + extent.rows <= enough):
            groups[-1].append(extent.file)
            rows += extent.rows
        else:
            groups.append([extent.file])
            rows = extent.rows
        if extent.last is not None:
            reach = extent.last if reach is None else max(reach, extent.last)
    return groups


def fit_columns(table: pa.Table, declared: Declaration, stored: pa.Schema) -> pa.Table:
    """A table in the columns of a store. Columns that it lacks are left out, new ones are added to the store, unless
    they rather are misspelled.

    Args:
        table: Events.
        declared: How the store is laid out.
        stored: The columns that it has now.

    Raises:
        DataError: It has no time, type or key, a column of another type, or one that is nearly called like one that it
            lacks; all problems are told.
    """
    needed = dict.fromkeys([declared.time, *([declared.type] if declared.type else []), *declared.keys])
    problems = [
        Problem("TW302", f"the events have no column {name}", "the store needs it")
        for name in needed
        if name not in table.column_names
    ]
    new, lacking = compare_columns(table.schema, stored)
    for name in new:
        meant = near_names(name, lacking)
        if meant:
            hint = f"{meant} to add {name} as a new column, give the events both, with NULLs where nothing is known"
            problems.append(Problem("TW301", f"the store has no column {name}", hint))
    columns = {}
    for name in table.column_names:
        column = table.column(name)
        wanted = stored.field(name).type if name in stored.names else plain_type(column.type)
        if pa.types.is_null(wanted):
            continue
        own = plain_type(column.type)
        if name in stored.names and not _may_become(own, wanted):
            problems.append(_misfit(name, own, wanted))
            continue
        try:
            columns[name] = column.cast(wanted)
        except pa.ArrowException:
            problems.append(_misfit(name, own, wanted))
    raise_problems(problems)
    return pa.table(columns)


def compare_columns(own: pa.Schema, stored: pa.Schema) -> tuple[list[str], list[str]]:
    """The columns that a store has not, and those that events lack."""
    return [name for name in own.names if name not in stored.names], [
        name for name in stored.names if name not in own.names
    ]


def count_no_events(table: pa.Table, declared: Declaration) -> tuple[int, int]:
    """How many rows have no time, and how many have a time and no type."""
    known = has_time(table.column(declared.time))
    no_type = 0
    if declared.type is not None:
        no_type = pc.sum(pc.and_(known, table.column(declared.type).is_null())).as_py() or 0
    return table.num_rows - (pc.sum(known).as_py() or 0), no_type


def _may_become(own: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether values may be written in the type of the store; whether each of them fits is seen when they are cast."""
    if pa.types.is_timestamp(own) and pa.types.is_timestamp(wanted):
        return (own.tz is None) == (wanted.tz is None)
    return wider_type(wanted, own) == wanted or (pa.types.is_integer(own) and pa.types.is_integer(wanted))


def _misfit(name: str, own: pa.DataType, wanted: pa.DataType) -> Problem:
    return Problem("TW332", f"the column {name} is {own}, and {wanted} in the store", "cast it")


def deal(table: pa.Table, declared: Declaration) -> Iterator[tuple[int, pa.Table]]:
    """The events of each bucket that has some, in order of time; those without a time come last."""
    hashes = hash_rows([table.column(name) for name in declared.keys], table.num_rows)
    buckets = (hashes % np.uint64(declared.buckets)).astype(np.int64)
    column = table.column(declared.time)
    known = np.asarray(has_time(column))
    moments = np.full(table.num_rows, 2**63 - 1)
    try:
        moments[known] = as_steps(column if known.all() else column.filter(pa.array(known)), time_type(column.type))
    except DataError as error:
        hint = "the time column of the events must fit 64 bits"
        raise DataError([Problem("TW310", error.problems[0].message, hint)]) from error
    order, starts, _ = order_by_time(buckets, moments, declared.buckets)
    for bucket in range(declared.buckets):
        rows = order[starts[bucket] : starts[bucket + 1]]
        if rows.size:
            yield bucket, table.take(pa.array(rows))


def file_name(number: str, bucket: int, declared: Declaration, part: int = 0) -> str:
    """The name of a file of an append."""
    return f"part-{number}-bucket-{bucket:05}-of-{declared.buckets:05}-{part:05}.parquet"


def write_file(place: Place, number: str, name: str, table: pa.Table, declared: Declaration) -> None:
    """Write a file that no reader sees before it is recorded: beside the data, or in its place where files cannot be
    moved at once."""
    target = staged_name(number, name) if place.is_local else name
    place.make_folder(os.path.dirname(target))
    moment = table.schema.field(declared.time).type
    plain = pa.types.is_timestamp(moment) or moment in (pa.int32(), pa.int64())
    texts = [field.name for field in table.schema if pa.types.is_string(field.type) or pa.types.is_binary(field.type)]
    with place.system.open_output_stream(place.path(target)) as sink:
        pq.write_table(
            table,
            sink,
            row_group_size=declared.group_rows,
            use_dictionary=texts,
            # Times that ascend are small differences.
            column_encoding={declared.time: "DELTA_BINARY_PACKED"} if plain else None,
        )
    if place.is_local:
        with open(place.path(target), "rb") as written:
            os.fsync(written.fileno())
