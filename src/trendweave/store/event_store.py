"""`EventStore`: events in files, with indexes next to the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.fs as pafs

from trendweave.errors import DataError, ExecutionError, OptionError, Problem, raise_problems
from trendweave.events import AUTO, TypeColumn, check_column_names
from trendweave.language.durations import read_duration
from trendweave.rows.tables import arrow_schema
from trendweave.rows.time_parsing import TimeUnit, read_schema, read_time_options
from trendweave.store.aggregate.calibration import measure_costs
from trendweave.store.aggregate.costs import Costs, save_costs
from trendweave.store.aggregate.event_windows import answer_counted
from trendweave.store.aggregate.question import read_question, read_windows
from trendweave.store.aggregate.run import Plan, Question, Using, answer, make_plan
from trendweave.store.changes import append_events, compact_files
from trendweave.store.index.building import Told, build_indexes
from trendweave.store.layout.commits import alone, delta_schema, is_delta, list_delta_files, list_files
from trendweave.store.layout.files import BUCKETS, GROUP_ROWS, DataFile, Declaration, load_declaration
from trendweave.store.layout.moments import read_between
from trendweave.store.layout.places import Place, find_place
from trendweave.store.layout.writing import ENOUGH_ROWS
from trendweave.store.snapshot import Snapshot
from trendweave.store.spark.frames import Sink
from trendweave.store.upkeep import Description, Verified, describe, vacuum, verify

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


#: The column of the type where none is named.
_TYPE = "type"


class EventStore(Snapshot):
    """An event store: Parquet files or a Delta table, with indexes next to the data.

    It shows the files that existed when it was opened, and what it has written since; `refresh` looks for new ones.

    Attributes:
        place: The folder.
        time: The time column.
        type: The type column; None if all events have one type.
        keys: The columns that events are bucketed by.
        files: The data files; the number of a file is its position here.
        declared: The layout of events that are written.
    """

    def __init__(self, place: Place, files: Sequence[DataFile], declared: Declaration) -> None:
        super().__init__(place, files, declared.time, declared.type, declared.keys, declared.schema)
        self.declared = declared

    @classmethod
    def over(
        cls,
        path: str | Path,
        time: str = "time",
        type: TypeColumn = AUTO,
        keys: Sequence[str] = (),
        filesystem: pafs.FileSystem | None = None,
    ) -> EventStore:
        """Open existing data as a store: a Delta table, or all Parquet files below a folder.

        Args:
            path: The folder, or a URI such as s3://bucket/folder.
            time: The time column.
            type: The type column; None if all events have one type. If left out, the column `type` if it exists.
            keys: The partition keys of the events.
            filesystem: The Arrow file system of the path, if its URI is not enough.

        Raises:
            DataError: There is nothing to read, or columns are missing.
        """
        check_column_names(time, type)
        place = find_place(path, filesystem)
        known = load_declaration(place)
        files = _list(place)
        if not files and known is None:
            raise DataError([Problem("TW331", f"there is no Parquet file in {place.address}", "is the path right?")])
        if known is None:
            columns = arrow_schema(delta_schema(place)) if is_delta(place) else pa.schema([])
            named = None if type is AUTO else type
            declared = Declaration(columns, time, named, tuple(keys), buckets=BUCKETS if keys else 1)
        else:
            named = known.type if type is AUTO else type
            declared = replace(known, time=time, type=named, keys=tuple(keys) or known.keys)
        store = cls(place, files, declared)
        if type is AUTO and known is None and _TYPE in store.schema.names:
            store.type, store.declared = _TYPE, replace(declared, type=_TYPE)
        store.check_columns([time, *([store.type] if store.type else []), *keys])
        store.check_time()
        return store

    @classmethod
    def create(
        cls,
        path: str | Path,
        schema: Any,
        time: str = "time",
        type: TypeColumn = AUTO,
        keys: Sequence[str] = (),
        index: Sequence[str] = (),
        buckets: int | None = None,
        group_rows: int = GROUP_ROWS,
        filesystem: pafs.FileSystem | None = None,
        time_unit: TimeUnit | None = None,
        time_format: str | None = None,
    ) -> EventStore:
        """Create an empty store.

        Args:
            path: A folder that is empty or does not exist.
            schema: Its columns: an Arrow schema, a mapping from names to Arrow types, or a table.
            time: The time column.
            type: The type column; None if all events have one type. If left out, the column `type` if it exists.
            keys: Events with the same values here are written into the same bucket.
            index: Columns to index by value.
            buckets: The number of buckets, if there are keys.
            group_rows: The number of rows of a row group, the unit of reading.
            filesystem: The Arrow file system of the path.
            time_unit: The unit of the numbers in the time column, as in `trendweave.Options`; the store has timestamps.
            time_format: The format of the texts in the time column; the store has timestamps.

        Raises:
            DataError: A store exists already, or a column is missing.
        """
        check_column_names(time, type)
        place = find_place(path, filesystem)
        columns = arrow_schema(pa.schema(dict(schema)) if isinstance(schema, Mapping) else schema)
        columns = read_schema(columns, (time,), read_time_options(time_unit, time_format))
        if type is AUTO:
            type = _TYPE if _TYPE in columns.names else None
        named = [time, *([type] if type else []), *keys, *index]
        raise_problems([Problem("TW301", f"the schema has no column {name}", "add it to the schema")
                        for name in dict.fromkeys(named) if name not in columns.names])  # fmt: skip
        if (buckets is not None and (buckets < 1 or not keys)) or group_rows < 1:
            raise OptionError([Problem("TW408", "buckets needs keys, and is at least 1", "name keys, too")])
        number = (BUCKETS if buckets is None else buckets) if keys else 1
        declared = Declaration(columns, time, type, tuple(keys), tuple(index), number, group_rows)
        made = cls(place, (), declared)
        made.check_time()
        if list_files(place) or not declared.save(place):
            raise DataError([Problem("TW333", f"{place.address} has files already", "open it, or use EventStore.over")])
        return made

    @classmethod
    def open(cls, path: str | Path, filesystem: pafs.FileSystem | None = None) -> EventStore:
        """Open a store that `create` made.

        Raises:
            DataError: There is no store.
        """
        place = find_place(path, filesystem)
        declared = load_declaration(place)
        if declared is None:
            hint = "make it with EventStore.create, or read what is there with EventStore.over"
            raise DataError([Problem("TW333", f"there is no store at {place.address}", hint)])
        return cls(place, _list(place), declared)

    def refresh(self) -> EventStore:
        """Look for new files; returns the same store."""
        self.files = tuple(_list(self.place))
        return self.look_again()

    def look_again(self) -> EventStore:
        """The same store with its indexes read again, because they may have changed."""
        place, files, declared = self.place, self.files, self.declared
        self.__dict__.clear()
        EventStore.__init__(self, place, files, declared)
        return self

    @cached_property
    def is_delta(self) -> bool:
        """Whether the data is a Delta table."""
        return is_delta(self.place)

    def append(
        self,
        events: Any,
        batch: tuple[str, int] | None = None,
        time_unit: TimeUnit | None = None,
        time_format: str | None = None,
    ) -> int:
        """Append events atomically.

        Args:
            events: An Arrow table or reader, a pandas or polars frame, a list of dictionaries, a file, or a Spark
                DataFrame. Columns that they lack are NULL and other columns are added to the store, with a warning.
            batch: The name of a stream and the number of a batch; the same batch is added only once.
            time_unit: The unit of their times, if these are numbers and the store has timestamps.
            time_format: The format of their times, if these are text and the store has timestamps.

        Returns:
            The number of rows that were added.

        Raises:
            DataError: The events do not fit the columns of the store: they lack the time, the type or a key, a column
                has another type, or looks misspelled.
        """
        return append_events(self, events, batch, read_time_options(time_unit, time_format))

    def sink(self, name: str = "sink", time_unit: TimeUnit | None = None, time_format: str | None = None) -> Sink:
        """A function for `writeStream.foreachBatch` that appends each batch of a stream exactly once.

        Args:
            name: Identifies the stream among those that write into the store. Keep it as long as the checkpoint.
            time_unit: As for `append`.
            time_format: As for `append`.
        """
        return Sink(self, name, time_unit, time_format)

    def follow(self, spark: SparkSession) -> DataFrame:
        """A streaming DataFrame of the existing events and those that will be appended, each exactly once.

        Files that a compaction replaced can still be read, until `vacuum` removes them: do not vacuum files that the
        stream has not read yet.

        Args:
            spark: The session.
        """
        from trendweave.runners.spark.versions import has_data_sources

        if self.is_delta:
            raise OptionError([Problem("TW408", "a Delta table is followed by Spark itself", "use readStream.table")])
        if not has_data_sources(spark):
            message = f"follow() needs Spark 4.0 or newer, and this is Spark {spark.version}"
            raise ExecutionError([Problem("TW424", message, "update Spark, or read what was added with run(between=)")])
        from trendweave.store.spark.frames import follow

        return follow(spark, self.place, self.schema)

    def to_spark(
        self,
        spark: SparkSession,
        columns: Sequence[str] | None = None,
        where: Sequence[tuple[str, str, Any]] = (),
        between: Sequence[Any] | None = None,
    ) -> DataFrame:
        """A plain DataFrame: Spark reads the files that can contain matching rows, and filters them.

        Args:
            spark: The session.
            columns: The columns to return; None for all.
            where: Conditions that all hold, such as `("price", ">=", 3)`; a comparison is one of = <> < <= > >=.
            between: Two times; only events from the first (inclusive) to the second (exclusive).

        Raises:
            TrendweaveError: A column is missing, or a condition cannot be parsed.
        """
        from trendweave.store.spark.frames import read_frame

        return read_frame(spark, self, columns, where, between)

    def build_index(
        self, columns: Sequence[str] = (), told: Told | None = None, events_per_block: int | None = None
    ) -> EventStore:
        """Build missing indexes: the light index of each file, and entries sorted by some columns.

        Args:
            columns: Columns to sort entries by.
            told: A callback that gets the name of a file and the number of further rows that are done.
            events_per_block: The approximate number of events per block of the light index; chosen to keep it small by
                default.

        Returns:
            The same store.
        """
        self.check_columns(columns)
        chosen = [(file, light is not None) for file, light in zip(self.files, self.light, strict=True)]
        wanted = list(dict.fromkeys([*self.declared.index, *columns]))
        build_indexes(self.shelf, self.open_files, chosen, wanted, told, events_per_block)
        return self.look_again()

    def compact(self, enough_rows: int = ENOUGH_ROWS, told: Told | None = None) -> int:
        """Compact the store: merge files of a bucket that are small or overlap in time. Rows stay the same.

        Args:
            enough_rows: Files with at least this many rows stay as they are, unless they overlap.
            told: A callback that gets the name of a file and the number of further rows that are done.

        Returns:
            The number of files that were replaced.

        Raises:
            ExecutionError: Another process is compacting this store.
        """
        return compact_files(self, enough_rows, told)

    def verify(self, deep: bool = False, told: Told | None = None) -> Verified:
        """Verify all files: data can be opened, indexes are intact and match it.

        Args:
            deep: Rebuild each light index from the data and compare it.
            told: A callback that gets the name of each file that is done.
        """
        return verify(self, deep, told)

    def describe(self) -> Description:
        """Describe the store: files, rows, times, indexes and sizes."""
        return describe(self)

    def vacuum(self, older_than: str = "1 day") -> list[str]:
        """Remove unfinished appends, replaced files, and indexes without data.

        Args:
            older_than: A duration; younger files are left alone, because a writer or reader may still use them.

        Returns:
            The names of the files that were removed.
        """
        age = read_duration(older_than, "older_than", or_none_at_all=True)
        with alone(self.place, "vacuum"):
            removed = vacuum(self.place, self, age / 1e9)
        self.refresh()
        return removed

    def calibrate(self) -> Costs:
        """Measure the cost of reading on this machine and store it with the data; access paths are chosen by it."""
        costs = measure_costs(self)
        save_costs(self.place, costs)
        from trendweave.store.patterns.costs import measure_weights, save_weights

        save_weights(self.place, measure_weights(self))
        self.__dict__.pop("costs", None)
        return costs

    def aggregate(
        self,
        aggregates: str,
        within: str | None = None,
        slide: str | None = None,
        between: Sequence[Any] | None = None,
        using: Using = "auto",
        spark: SparkSession | None = None,
        by: str | Sequence[str] = (),
    ) -> pa.Table:
        """Aggregate events over windows.

        Args:
            aggregates: Such as `COUNT(*), AVG(price) AS mean`: COUNT, SUM, AVG, MIN and MAX.
            within: The length of a window: `1 day`, or `1000 events`; one window over everything if left out.
            slide: The slide of the window. Windows start at multiples of it, counted from 1970, or from the first
                event.
            between: Two times; only events from the first (inclusive) to the second (exclusive).
            using: `index` uses the index, `replay` scans all events, `auto` chooses the cheaper one.
            spark: A session whose tasks do the reading; otherwise this process does.
            by: Columns to group by. The index answers for blocks whose events all belong to one group: those of a
                folder, and those in which the column has one value; rows of other blocks are read. Requires windows of
                time; for windows of a number of events per key use `trendweave.operators.window_aggregate`.

        Returns:
            A row per window (and group) with an event, in order; for windows of events, a row per full window.

        Raises:
            TrendweaveError: An argument cannot be parsed, or does not fit the store.
        """
        question = self._question(aggregates, within, slide, between, by)
        if question.windows is not None and question.windows.of_events:
            if by:
                message = "windows of events have no groups: by= leaves open whether it is events of a group that count"
                hint = "use the operator, which counts those of each key: ops.window_aggregate(..., rows=, keys=)"
                raise OptionError([Problem("TW408", message, hint)])
            if spark is not None:
                message = "windows of events are answered in this process"
                raise OptionError([Problem("TW408", message, "leave spark= out")])
            return answer_counted(self, question, using)
        plan = make_plan(self, question, using, self.costs)
        if spark is None:
            return answer(self, question, plan)
        if by:
            hint = "leave spark= out"
            raise OptionError([Problem("TW408", "groups are answered in this process", hint)])
        from trendweave.store.spark.aggregate import answer_on_spark

        return answer_on_spark(spark, self, question, plan)

    def explain_aggregate(
        self,
        aggregates: str,
        within: str | None = None,
        slide: str | None = None,
        between: Sequence[Any] | None = None,
        using: Using = "auto",
        by: str | Sequence[str] = (),
    ) -> Plan:
        """Explain `aggregate`: what comes from the index, what is read, and the cost of each access path."""
        question = self._question(aggregates, within, slide, between, by)
        if question.windows is not None and question.windows.of_events:
            hint = "explain windows of time"
            raise OptionError([Problem("TW408", "windows of events always use the index", hint)])
        return make_plan(self, question, using, self.costs)

    def _question(
        self,
        aggregates: str,
        within: str | None,
        slide: str | None,
        between: Sequence[Any] | None,
        by: str | Sequence[str],
    ) -> Question:
        names = (by,) if isinstance(by, str) else tuple(dict.fromkeys(by))
        self.check_columns(names)
        wanted = read_question(aggregates, self.schema)
        if taken := sorted({*names, "window_start", "window_end"} & {one.name for one in wanted}):
            raise OptionError([Problem("TW214", f"two columns are called {taken[0]}", "rename one with AS")])
        return Question(wanted, read_windows(within, slide, self.kind), read_between(between, self.kind), names)


def _list(place: Place) -> list[DataFile]:
    return list_delta_files(place) if is_delta(place) else list_files(place)
