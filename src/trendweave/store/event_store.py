"""`EventStore`: events in files, with indexes beside them."""

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
from trendweave.rows.given_times.options import read_time_options
from trendweave.rows.given_times.reading import read_schema
from trendweave.rows.given_times.units import TimeUnit
from trendweave.rows.tables import arrow_schema
from trendweave.store.aggregate.calibration import measure_costs
from trendweave.store.aggregate.costs import Costs, save_costs
from trendweave.store.aggregate.event_windows import answer_counted
from trendweave.store.aggregate.question import read_question
from trendweave.store.aggregate.run import Plan, Question, Using, answer, make_plan
from trendweave.store.aggregate.windows import read_windows
from trendweave.store.changes import append_events, compact_files
from trendweave.store.index.building import Told, build_indexes
from trendweave.store.layout.commits import list_files
from trendweave.store.layout.compacting import ENOUGH_ROWS
from trendweave.store.layout.declaration import BUCKETS, GROUP_ROWS, Declaration, load_declaration
from trendweave.store.layout.delta import delta_schema, is_delta, list_delta_files
from trendweave.store.layout.files import DataFile
from trendweave.store.layout.locking import alone
from trendweave.store.layout.moments import read_between
from trendweave.store.layout.places import Place, find_place
from trendweave.store.snapshot import Snapshot
from trendweave.store.spark.sink import Sink
from trendweave.store.upkeep import Description, Verified, describe, vacuum, verify

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


#: The column of the type where none is named.
_TYPE = "type"


class EventStore(Snapshot):
    """Events in files of Parquet or in a Delta table, and indexes beside them that make questions fast.

    It shows the files that were there when it was opened, and what it wrote itself since; `refresh` looks again.

    Attributes:
        place: The folder.
        time: The column of the time.
        type: The column of the type; None where all events are of one.
        keys: The columns that events are brought together by.
        files: The data files; the number of a file is its place here.
        declared: How events are laid out that are written.
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
        """A store over what is there already: a Delta table, or all files of Parquet below a folder.

        Args:
            path: The folder, or an address such as s3://bucket/folder.
            time: The column of the time.
            type: The column of the type, None where all events are of one. Without it, the column `type` if that is
                there.
            keys: Columns that bring events together.
            filesystem: Arrow's file system that has the path, where its address does not say all.

        Raises:
            DataError: There is nothing to read, or the columns are not there.
        """
        check_column_names(time, type)
        place = find_place(path, filesystem)
        known = load_declaration(place)
        files = _list(place)
        if not files and known is None:
            raise DataError([Problem("TW331", f"no Parquet file lies in {place.address}", "is the path right?")])
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
        """Make a store that has no events yet.

        Args:
            path: A folder that is empty or not there.
            schema: Its columns: an Arrow schema, a mapping from names to Arrow types, or a table.
            time: The column of the time.
            type: The column of the type, None where all events are of one. Without it, the column `type` if that is
                there.
            keys: Events with the same values here are written into the same bucket.
            index: Columns that entries are sorted by.
            buckets: How many buckets there are, where there are keys.
            group_rows: How many rows a row group has, the smallest piece that is read.
            filesystem: Arrow's file system that has the path.
            time_unit: The time column of the schema holds numbers of this unit, as in `trendweave.Options`; the store
                has timestamps.
            time_format: The time column of the schema holds text, written so; the store has timestamps.

        Raises:
            DataError: There is a store already, or a column is missing.
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
            raise OptionError([Problem("TW408", "buckets go with keys, and are at least one", "name keys, too")])
        number = (BUCKETS if buckets is None else buckets) if keys else 1
        declared = Declaration(columns, time, type, tuple(keys), tuple(index), number, group_rows)
        made = cls(place, (), declared)
        made.check_time()
        if list_files(place) or not declared.save(place):
            raise DataError([Problem("TW333", f"{place.address} has files already", "open it, or use EventStore.over")])
        return made

    @classmethod
    def open(cls, path: str | Path, filesystem: pafs.FileSystem | None = None) -> EventStore:
        """Open a store that was made by `create`.

        Raises:
            DataError: There is none.
        """
        place = find_place(path, filesystem)
        declared = load_declaration(place)
        if declared is None:
            hint = "make it with EventStore.create, or read what is there with EventStore.over"
            raise DataError([Problem("TW333", f"there is no store at {place.address}", hint)])
        return cls(place, _list(place), declared)

    def refresh(self) -> EventStore:
        """Look again which files there are; the same store."""
        self.files = tuple(_list(self.place))
        return self.look_again()

    def look_again(self) -> EventStore:
        """The same files, whose indexes may be others now."""
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
        """Add events: all of them are seen from one moment on, or none.

        Args:
            events: An Arrow table or reader, a pandas or polars frame, or a DataFrame of Spark.
            batch: The name of a stream and the number of a batch: the same batch is added once, however often it comes.
            time_unit: What their times count, where they are numbers and the store has timestamps.
            time_format: How their times are written, where they are text and the store has timestamps.

        Returns:
            How many rows were added.

        Raises:
            DataError: The events do not fit the columns of the store.
        """
        return append_events(self, events, batch, read_time_options(time_unit, time_format))

    def sink(self, name: str = "sink", time_unit: TimeUnit | None = None, time_format: str | None = None) -> Sink:
        """A function for `writeStream.foreachBatch` that adds each batch of a stream once.

        Args:
            name: Tells streams that write into one store apart. A stream keeps it as it keeps its checkpoint.
            time_unit: As for `append`.
            time_format: As for `append`.
        """
        return Sink(self, name, time_unit, time_format)

    def follow(self, spark: SparkSession) -> DataFrame:
        """A streaming DataFrame of the events that are there and of those that will be added, each append once.

        Files that are replaced by a compaction are read from where they went; `vacuum` must not be quicker than the
        stream.

        Args:
            spark: The session.
        """
        from trendweave.runners.spark.versions import has_data_sources

        if self.is_delta:
            raise OptionError([Problem("TW408", "a Delta table is followed by Spark itself", "use readStream.table")])
        if not has_data_sources(spark):
            message = f"stored events are followed on Spark 4.0 or newer, and this is Spark {spark.version}"
            raise ExecutionError([Problem("TW424", message, "update Spark, or read what was added with run(between=)")])
        from trendweave.store.spark.follow import follow

        return follow(spark, self.place, self.schema)

    def to_spark(
        self,
        spark: SparkSession,
        columns: Sequence[str] | None = None,
        where: Sequence[tuple[str, str, Any]] = (),
        between: Sequence[Any] | None = None,
    ) -> DataFrame:
        """A plain DataFrame: Spark reads the files that can hold what is asked for, and filters their rows.

        Args:
            spark: The session.
            columns: Those that are shown; None for all.
            where: Conditions that all hold, such as `("price", ">=", 3)`; a comparison is one of = <> < <= > >=.
            between: Two moments; only events from the first on and before the second are shown.

        Raises:
            TrendweaveError: A column is not there, or a condition cannot be read.
        """
        from trendweave.store.spark.frames import read_frame

        return read_frame(spark, self, columns, where, between)

    def build_index(
        self, columns: Sequence[str] = (), told: Told | None = None, events_per_block: int | None = None
    ) -> EventStore:
        """Make the indexes that files lack: the light one of each, and entries sorted by some columns.

        Args:
            columns: Columns to sort entries by.
            told: Is told the name of a file and how many more of its rows are done.
            events_per_block: About how many events share the numbers of the light index; as many as keep it small
                where this is left out.

        Returns:
            The same store.
        """
        self.check_columns(columns)
        chosen = [(file, light is not None) for file, light in zip(self.files, self.light, strict=True)]
        wanted = list(dict.fromkeys([*self.declared.index, *columns]))
        build_indexes(self.shelf, self.open_files, chosen, wanted, told, events_per_block)
        return self.look_again()

    def compact(self, enough_rows: int = ENOUGH_ROWS, told: Told | None = None) -> int:
        """Merge files of a bucket that are small, or whose times overlap. Rows stay the same.

        Args:
            enough_rows: Files that have as many rows stay as they are, unless they overlap.
            told: Is told the name of a file and how many more rows are done.

        Returns:
            How many files were replaced.

        Raises:
            ExecutionError: Another process compacts this store.
        """
        return compact_files(self, enough_rows, told)

    def verify(self, deep: bool = False, told: Told | None = None) -> Verified:
        """Look at all files: data can be opened, indexes are whole and belong to it.

        Args:
            deep: Make each light index anew from the data, and compare it.
            told: Is told the name of each file that is done.
        """
        return verify(self, deep, told)

    def describe(self) -> Description:
        """What the store is: files, rows, times, indexes and sizes."""
        return describe(self)

    def vacuum(self, older_than: str = "1 day") -> list[str]:
        """Remove appends that were never finished, files that were replaced, and indexes without data.

        Args:
            older_than: A length of time; younger files may be those of somebody at work, or of a reader.

        Returns:
            The names of the files that were removed.
        """
        age = read_duration(older_than, "older_than", or_none_at_all=True)
        with alone(self.place, "vacuum"):
            removed = vacuum(self.place, self, age / 1e9)
        self.refresh()
        return removed

    def calibrate(self) -> Costs:
        """Measure what reading costs on this machine, and keep it beside the data; plans are chosen by it."""
        costs = measure_costs(self)
        save_costs(self.place, costs)
        from trendweave.store.patterns.costs.calibration import measure_weights, save_weights

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
        """Aggregates of events in windows.

        Args:
            aggregates: Such as `COUNT(*), AVG(price) AS mean`: COUNT, SUM, AVG, MIN and MAX.
            within: How long a window is: `1 day`, or `1000 events`; one window over all where it is left out.
            slide: How far it moves. Windows begin at multiples of it, counted from 1970, or from the first event.
            between: Two moments; only events from the first on and before the second are looked at.
            using: `index` takes what the tree knows, `replay` reads all events, `auto` what costs less.
            spark: A session whose tasks read what has to be read; else this process does.
            by: Columns that events are grouped by. Blocks whose events are all of one group are taken whole: those of a
                folder, and those in which a column has one value; of others the rows are read. With windows of time;
                windows of so many events of each key are those of `trendweave.operators.window_aggregate`.

        Returns:
            A row per window (and group) that has an event, in order; of windows of events, a row per full window.

        Raises:
            TrendweaveError: The question cannot be read, or does not fit the store.
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
        """How `aggregate` would answer: what it takes from the tree, what it reads, and what either way costs."""
        question = self._question(aggregates, within, slide, between, by)
        if question.windows is not None and question.windows.of_events:
            hint = "explain windows of time"
            raise OptionError([Problem("TW408", "windows of events take what blocks know, and read the rest", hint)])
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
