"""A program on Parquet files whose tasks read them: the driver knows files and columns, and no row passes the JVM
before it is packed.

Row groups whose bounds tell that no row of them is needed are not read, only counted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from trendweave.errors import DataError, OptionError, Problem, near_names
from trendweave.expressions.arrow.evaluate import column_of, evaluate
from trendweave.language import syntax_tree as st
from trendweave.programs.program import FAMILY, MEETS, Family, Flag, Needs, Program, Scope
from trendweave.rows.dropped import COUNTS, Dropped, add_up
from trendweave.rows.hashing import hash_rows
from trendweave.rows.times import has_time
from trendweave.runners.metrics import Metrics
from trendweave.runners.options import Settings
from trendweave.runners.spark.batch import merge_parts, run_batch
from trendweave.runners.spark.blobs import BLOBS, BUCKET, ROWS
from trendweave.runners.spark.chunks import find_cut
from trendweave.runners.spark.exchange import Deal, compute_blobs, find_buckets, is_sorted_by_time
from trendweave.runners.spark.metrics import count_results, observe_rows
from trendweave.runners.spark.parquet_files import Bounds, EventFile, File, add_folders, list_files, read_folders
from trendweave.runners.spark.prepare import in_plain_strings, result_type
from trendweave.runners.spark.tasks import TableTask
from trendweave.runners.spark.workers import travelling


def may_be_taken(needs: Needs, bounds: Bounds) -> bool:
    """Whether some row may be one that a program takes.

    Args:
        needs: What the program takes.
        bounds: What is known of the rows.
    """
    if not bounds.rows:
        return False
    if needs.time is not None and bounds.is_all_null(needs.time):
        return False
    if needs.type is not None:
        if bounds.is_all_null(needs.type):
            return False
        if needs.kept_types is not None and not any(bounds.is_inside(needs.type, one) for one in needs.kept_types):
            return False
    if any(bounds.is_all_null(path[0]) for path in needs.known):
        return False
    return not needs.only_flagged or any(_may_be_set(flag, needs, bounds) for flag in needs.flags if flag is not None)


def _may_be_set(flag: Flag, needs: Needs, bounds: Bounds) -> bool:
    if flag.type is not None and needs.type is not None and not bounds.is_inside(needs.type, flag.type):
        return False
    return flag.condition is None or may_be_true(flag.condition, bounds)


def may_be_true(condition: st.Expression, bounds: Bounds) -> bool:
    """Whether a condition may hold in some row.

    Args:
        condition: A condition on one row.
        bounds: What is known of the rows.
    """
    match condition:
        case st.AllOf(parts=parts):
            return all(may_be_true(part, bounds) for part in parts)
        case st.AnyOf(parts=parts):
            return any(may_be_true(part, bounds) for part in parts)
        case st.Comparison(operator=operator, left=st.Attribute(names=(name,)), right=right) if _is_constant(right):
            return _may_compare(name, operator, right, bounds)
        case st.Comparison(operator=operator, left=left, right=st.Attribute(names=(name,))) if _is_constant(left):
            return _may_compare(name, st.MIRRORED[operator], left, bounds)
        case st.InList(operand=st.Attribute(names=(name,)), options=options, negated=False):
            return any(not _is_constant(one) or _may_compare(name, "=", one, bounds) for one in options)
        case st.Between(operand=st.Attribute(names=(name,)), low=low, high=high, negated=False):
            return (not _is_constant(low) or _may_compare(name, ">=", low, bounds)) and (
                not _is_constant(high) or _may_compare(name, "<=", high, bounds)
            )
        case st.IsNull(operand=st.Attribute(names=(name,)), negated=negated):
            return not bounds.is_all_null(name) if negated else bounds.may_be_null(name)
    return True


def _is_constant(expression: st.Expression) -> bool:
    return not any(
        isinstance(node, st.Attribute | st.NextAttribute | st.PreviousAttribute) for node in expression.walk()
    )


def _may_compare(name: str, operator: st.ComparisonOperator, constant: st.Expression, bounds: Bounds) -> bool:
    """The comparison itself is asked about the least and the greatest value, so that it means what it means in rows."""
    if bounds.is_all_null(name):
        return False
    if not bounds.knows(name):
        return True

    def holds(asked: st.ComparisonOperator, least: bool) -> bool:
        table = bounds.low if least else bounds.high
        answer = evaluate(st.Comparison(asked, st.Attribute((name,)), constant), table)[0].as_py()
        # A bound that cannot be compared, as a number that is too large may be, tells nothing of the others.
        return answer is None or bool(answer)

    match operator:
        case "<" | "<=":
            return holds(operator, least=True)
        case ">" | ">=":
            return holds(operator, least=False)
        case "=":
            return holds("<=", least=True) and holds(">=", least=False)
    # Only where all values are one, and that one is it, none differs.
    return holds("!=", least=True) or holds("!=", least=False)


def count_by_bounds(needs: Needs, bounds: Bounds) -> Dropped | None:
    """The counts of rows that nobody has read; None where bounds do not tell them.

    Args:
        needs: What is dropped.
        bounds: What is known of the rows.
    """
    no_time = _count_without_time(needs, bounds)
    if no_time is None or needs.type is None:
        return None if no_time is None else Dropped(bounds.rows, no_time)
    no_type = bounds.nulls.get(needs.type)
    if no_type is None or (no_type and no_time and bounds.rows not in (no_type, no_time)):
        return None  # some rows may have neither
    without = min(no_type, bounds.rows - no_time)
    rest = bounds.rows - no_time - without
    if needs.named_types is None:
        return Dropped(bounds.rows, no_time, without, 0)
    if not rest or not any(bounds.is_inside(needs.type, name) for name in needs.named_types):
        return Dropped(bounds.rows, no_time, without, rest)
    if any(_is_all(bounds, needs.type, name) for name in needs.named_types):
        return Dropped(bounds.rows, no_time, without, 0)
    return None


def _count_without_time(needs: Needs, bounds: Bounds) -> int | None:
    if needs.time is None:
        return 0
    if bounds.is_all_null(needs.time):
        return bounds.rows
    # Statistics tell of NULL, not of NaN and infinities, which are no times either.
    is_float = bounds.knows(needs.time) and pa.types.is_floating(bounds.low.schema.field(needs.time).type)
    return None if is_float or not bounds.knows(needs.time) else bounds.nulls.get(needs.time)


def _is_all(bounds: Bounds, column: str, value: str) -> bool:
    return bounds.knows(column) and all(table.column(column)[0].as_py() == value for table in (bounds.low, bounds.high))


def count_rows(needs: Needs, rows: pa.Table) -> Dropped:
    """The counts of rows of which times and types were read, as `runners/spark/metrics.py` makes them.

    Args:
        needs: What is dropped.
        rows: Rows with at least these columns.
    """
    known = pa.chunked_array([pa.repeat(True, rows.num_rows)])
    if needs.time is not None:
        known = has_time(rows.column(needs.time))
    no_time = rows.num_rows - _count(known)
    if needs.type is None:
        return Dropped(rows.num_rows, no_time)
    types = rows.column(needs.type)
    typed = pc.and_(known, pc.is_valid(types))
    no_type = _count(known) - _count(typed)
    if needs.named_types is None:
        return Dropped(rows.num_rows, no_time, no_type)
    named = pc.is_in(types.cast(pa.string()), value_set=pa.array(sorted(needs.named_types), pa.string()))
    return Dropped(rows.num_rows, no_time, no_type, _count(pc.and_not(typed, named)))


def _count(mask: pa.ChunkedArray) -> int:
    return pc.sum(mask).as_py() or 0


def keep_known(rows: pa.Table, needs: Needs) -> pa.Table:
    """Only rows that have all keys that they must have.

    Args:
        rows: Prepared rows.
        needs: What the program takes.
    """
    named = {expression.names: name for name, expression in needs.columns if isinstance(expression, st.Attribute)}
    columns = [rows.column(named[path]) for path in needs.known if path in named]
    tests = [pc.is_valid(column) for column in columns if column.null_count]
    return rows.filter(reduce(pc.and_, tests)) if tests else rows


def copy_rows(rows: pa.Table, needs: Needs) -> pa.Table:
    """Each row for each family that takes it; as they are where there is one family.

    Args:
        rows: Prepared rows.
        needs: Says which families there are.
    """
    if len(needs.families) < 2:
        return rows
    copies = []
    for family in needs.families:
        taken = rows if family.takes is None else rows.filter(pa.array(_is_taken(rows, family, needs)))
        keys = [column_of(taken, path) for path in family.keys]
        meets = hash_rows(keys, taken.num_rows).view(np.int64)
        copied = taken.append_column(FAMILY, pa.array(np.full(taken.num_rows, family.mark, np.int32)))
        copies.append(copied.append_column(MEETS, pa.array(meets)))
    return pa.concat_tables(copies)


def _is_taken(rows: pa.Table, family: Family, needs: Needs) -> np.ndarray:
    masks = np.zeros(len(needs.words), np.uint64)
    for bit in family.takes or ():
        masks[bit // 64] |= np.uint64(1 << bit % 64)
    taken = np.zeros(rows.num_rows, np.bool_)
    for word, mask in zip(needs.words, masks, strict=True):
        taken |= (rows.column(word).to_numpy().view(np.uint64) & mask) != 0
    return taken


#: So many bytes of files for a task: a second or less of work, so that tasks are neither few nor tiny.
BYTES_OF_A_TASK = 16 * 2**20
#: To open a file costs as much as to read so many bytes.
_OPENING = 4 * 2**20
#: Where the size of a file is not known here, it is one piece.
_UNKNOWN = 2**62


@dataclass(frozen=True, slots=True)
class Piece:
    """The row groups of a file that begin between two of its bytes; each begins in one piece."""

    file: File
    first: int
    end: int


def deal_pieces(files: Sequence[File], most: int) -> tuple[tuple[Piece, ...], ...]:
    """Pieces per task, in the order of files. Files without a byte have no rows.

    Args:
        files: All files.
        most: How many bytes a task reads, if they can be cut so.
    """
    tasks: list[tuple[Piece, ...]] = []
    held: list[Piece] = []
    taken = 0
    for piece, cost in _cut(files, max(1, min(most, BYTES_OF_A_TASK))):
        if held and taken + cost > most:
            tasks.append(tuple(held))
            held, taken = [], 0
        held.append(piece)
        taken += cost
    return (*tasks, tuple(held)) if held else tuple(tasks)


def _cut(files: Sequence[File], most: int) -> Iterator[tuple[Piece, int]]:
    for file in files:
        if file.size is None:
            yield Piece(file, 0, _UNKNOWN), most
        elif file.size:
            number = -(-file.size // most)
            edges = [file.size * place // number for place in range(number)] + [_UNKNOWN]
            for first, end in pairwise(edges):
                yield Piece(file, first, end), (min(end, file.size) - first) + _OPENING * (first == 0)


def bytes_of_a_task(read_setting: Callable[[str], str | None]) -> int:
    """How many bytes a task reads at most: ours, unless the session's are fewer."""
    given = read_setting("spark.sql.files.maxPartitionBytes") or ""
    number = given.lower().removesuffix("b")
    return min(BYTES_OF_A_TASK, int(number)) if number.isdigit() and int(number) else BYTES_OF_A_TASK


_BLOB = {BUCKET: pa.int32(), ROWS: pa.binary()}


@dataclass(frozen=True, slots=True)
class ReadTask:
    """For mapInArrow, over the numbers of tasks.

    Attributes:
        program: Prepares rows.
        columns: The columns of the events, in the types of the program.
        tasks: The pieces of files that each task reads.
        deal: Packs prepared rows.
        counted: Whether a last row with counts follows the blobs of a task.
    """

    program: Program
    columns: pa.Schema
    tasks: tuple[tuple[Piece, ...], ...]
    deal: Deal
    counted: bool = False

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from self._read(self.tasks[number])

    def _read(self, pieces: Iterable[Piece]) -> Iterator[pa.RecordBatch]:
        if not self.counted:
            yield from self.deal(self._rows(pieces, []))
            return
        counts: list[Dropped] = []
        for blobs in self.deal(self._rows(pieces, counts)):
            uncounted = [pa.nulls(blobs.num_rows, pa.int64())] * len(COUNTS)
            yield pa.RecordBatch.from_arrays([*blobs.columns, *uncounted], [*_BLOB, *COUNTS.values()])
        no_blob = [pa.nulls(1, kind) for kind in _BLOB.values()]
        yield pa.RecordBatch.from_arrays([*no_blob, *add_up(counts)], [*_BLOB, *COUNTS.values()])

    def _rows(self, pieces: Iterable[Piece], counts: list[Dropped]) -> Iterator[pa.RecordBatch]:
        """Prepared rows of pieces; `counts` gets what was dropped."""
        for piece in pieces:
            with closing(EventFile(piece.file, self.columns)) as events:
                for group in events.groups(piece.first, piece.end):
                    for table in self._tables(events, group, counts):
                        rows, dropped = self.program.prepare(table)
                        counts.append(dropped)
                        rows = copy_rows(keep_known(rows, self.program.needs), self.program.needs)
                        yield from rows.combine_chunks().to_batches()

    def _tables(self, events: EventFile, group: int, counts: list[Dropped]) -> Iterator[pa.Table]:
        """The rows of a row group, unless none of them is needed; those are counted where counts are asked for."""
        needs = self.program.needs
        bounds = events.bounds(group)
        if may_be_taken(needs, bounds):
            yield from events.tables([group], needs.read)
        elif self.counted:
            found = count_by_bounds(needs, bounds)
            if found is not None:
                counts.append(found)
                return
            columns = [name for name in (needs.time, needs.type) if name is not None]
            counts += [count_rows(needs, table) for table in events.tables([group], columns)]


try:
    from py4j.protocol import Py4JError
except ModuleNotFoundError:  # a client of Spark Connect may lack it, and never meets it
    Py4JError = PySparkException
#: What Spark's reader may be told: all of them are about which files and columns there are, none about values.
_OPTIONS = ("mergeSchema", "basePath", "recursiveFileLookup", "pathGlobFilter", "modifiedBefore", "modifiedAfter")


class ParquetEvents:
    """Events in Parquet files. Use them like a DataFrame in `query.run` and so on; the rows are the same.

    Attributes:
        files: The files, as they were found when this object was made.
    """

    def __init__(self, frame: DataFrame, files: tuple[File, ...]) -> None:
        self._frame = frame
        self.files = files

    @property
    def schema(self) -> StructType:
        """The columns, in the types that Spark reads them in."""
        return self._frame.schema

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._frame.columns

    @property
    def sparkSession(self) -> SparkSession:
        """The session that runs queries."""
        return self._frame.sparkSession

    def to_spark(self) -> DataFrame:
        """The same events as a plain DataFrame, which Spark reads."""
        return self._frame

    def __repr__(self) -> str:
        shown = ", ".join(f"{field.name}: {field.dataType.simpleString()}" for field in self.schema)
        return f"ParquetEvents[{shown}]"


def read(spark: SparkSession, path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], **options: Any) -> Any:
    """Events in Parquet files, for queries on Spark whose tasks read the files themselves.

    Rows do not pass through the JVM: tasks read the columns that a query needs and skip row groups that cannot
    contribute. Spark lists files and columns, and the rows are those of `query.run(spark.read.parquet(path))`.

    Args:
        spark: The session.
        path: A file, a folder, a glob such as `events/2024-*`, or several of them. Folders `name=value` become columns.
        **options: Of Spark's reader: `mergeSchema`, `basePath`, `recursiveFileLookup`, `pathGlobFilter`,
            `modifiedBefore`, `modifiedAfter`.

    Returns:
        The events, as `ParquetEvents`, for `run`, `schema` and `check` of queries and workloads; `to_spark()` returns a
        DataFrame.

    Raises:
        DataError: There are no such files, or they are not Parquet files.
        OptionError: An option is not one of these.
    """
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:
        hint = near_names(unknown[0], _OPTIONS) or "give the query spark.read.parquet(...) for other options"
        message = f"read knows the options {', '.join(_OPTIONS)}, not {', '.join(unknown)}"
        raise OptionError([Problem("TW408", message, hint)])
    given = [path] if isinstance(path, str | os.PathLike) else list(path)
    paths = [os.fspath(one) for one in given]
    try:
        frame = spark.read.format("parquet").options(**options).load(paths)
        schema = frame.schema
    except (PySparkException, Py4JError) as error:
        raise DataError([_cannot_read(paths, error)]) from error
    by_folders = str(options.get("recursiveFileLookup", "")).lower() != "true"
    base = options.get("basePath")
    assert schema is not None
    return ParquetEvents(frame, list_files(frame, paths, None if base is None else str(base), by_folders))


def _cannot_read(paths: Sequence[str], error: Exception) -> Problem:
    said = str(error).split("\n", 1)[0].split("SQLSTATE", 1)[0].strip()
    hint = "are they there, and are they Parquet files?"
    if "CONFLICTING_DIRECTORY_STRUCTURES" in str(error):
        hint = "give the folder that holds all of them, or name it as basePath"
    elif "NANOS" in str(error):
        hint = "Spark reads no times in nanoseconds: write them in microseconds"
    elif not paths:
        hint = "name a file or a folder"
    return Problem("TW308", f"{', '.join(paths) or 'no path'} cannot be read as Parquet: {said}", hint)


#: Settings of a session that change which values Spark reads, and those under which tasks read the same.
_PLAIN = {
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.parquet.fieldId.read.enabled": "false",
    "spark.sql.parquet.int96TimestampConversion": "false",
    "spark.sql.legacy.parquet.nanosAsLong": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
}


def run_files(program: Program, events: ParquetEvents, settings: Settings) -> DataFrame:
    """The rows of a program. Nothing runs before an action on the result does.

    Args:
        program: Bound to the columns of the events.
        events: The files.
        settings: Checked options.
    """
    plain = in_plain_strings(events.to_spark())
    if why_spark_reads(program, events, settings) is not None:
        return run_batch(program, plain, settings)
    metrics = settings.observation if isinstance(settings.observation, Metrics) else None
    program.count_what_is_planned()
    observation = settings.observation if metrics is None else observe_rows(metrics)
    cut = find_cut(program, settings)
    in_parts = program.partials() is not None
    task = TableTask(program, Scope(counted=metrics is not None), in_parts, device=settings.device)
    task = replace(task.in_chunks(cut), adopts=False)
    deal = Deal(find_buckets(events.sparkSession), task.keys, cut, program.moment)
    blobs = _read(program, events, deal, observation)
    result = result_type(program, plain.schema)
    found = merge_parts(task, result, lambda shown: compute_blobs(task, blobs, shown, settings))
    return found if metrics is None else count_results(metrics, found, program.metrics is not None)


def _read(program: Program, events: ParquetEvents, deal: Deal, observation: Observation | None) -> DataFrame:
    """The blobs that tasks make of files, counted as they pass."""
    spark = events.sparkSession
    files = events.files if observation is not None else _find_needed(program, events.files)
    tasks = deal_pieces(files, bytes_of_a_task(lambda name: spark.conf.get(name, None)))
    task = ReadTask(program, program.events, tasks, deal, counted=observation is not None)
    numbers = spark.range(0, len(tasks), 1, max(1, len(tasks)))
    if observation is None:
        return numbers.mapInArrow(travelling(task), BLOBS)
    blobs = numbers.mapInArrow(travelling(task), f"{BLOBS}, {', '.join(f'{name} LONG' for name in COUNTS.values())}")
    counts = [F.coalesce(F.sum(column), F.lit(0)).alias(name) for name, column in COUNTS.items()]
    return blobs.observe(observation, *counts).where(F.col(BUCKET).isNotNull()).drop(*COUNTS.values())


def _find_needed(program: Program, files: Sequence[File]) -> list[File]:
    """Files whose folders do not tell that no row of them is needed."""
    one_row = Bounds(1)
    values = (read_folders(file, program.events) for file in files)
    return [
        file
        for file, own in zip(files, values, strict=True)
        if not own or may_be_taken(program.needs, add_folders(one_row, own))
    ]


def why_spark_reads(program: Program, events: ParquetEvents, settings: Settings) -> str | None:
    """Why Spark reads the files, and not tasks; None where tasks do.

    Args:
        program: What runs.
        events: The files.
        settings: Checked options.
    """
    if is_sorted_by_time(program):
        return "rows are sorted by Spark"
    if program.needs.time is None:
        return "rows have no single time"
    cut = find_cut(program, settings)
    if cut is not None and cut.last_step:
        return "the last time before a chunk is known to no task"
    for name in program.needs.read:
        if not _is_readable(program.events.field(name).type):
            return f"the column {name} is of a type that Arrow lacks"
    folders = {name.lower() for file in events.files for name, _ in file.folders}
    for name in program.needs.read:
        kind = program.events.field(name).type
        if name.lower() in folders and pa.types.is_timestamp(kind):
            return f"the folders of {name} are times, in the zone of the session"
    read = events.sparkSession.conf.get
    for name, value in _PLAIN.items():
        if (read(name, value) or value).lower() != value.lower():
            return f"the session says {name}={read(name)}"
    return None


def _is_readable(kind: pa.DataType) -> bool:
    return not pa.types.is_null(kind) and all(_is_readable(kind.field(place).type) for place in range(kind.num_fields))
