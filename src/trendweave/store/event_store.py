"""`EventStore`: events in files, with indexes beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.fs as pafs

from trendweave.errors import DataError, OptionError, Problem, raise_problems
from trendweave.language.durations import read_duration
from trendweave.rows.tables import arrow_schema, as_arrow
from trendweave.store.aggregate.calibration import measure_costs
from trendweave.store.aggregate.costs import Costs, save_costs
from trendweave.store.aggregate.event_windows import answer_counted
from trendweave.store.aggregate.question import read_question
from trendweave.store.aggregate.run import Plan, Question, Using, answer, make_plan
from trendweave.store.aggregate.windows import read_windows
from trendweave.store.index.building import Told, build_indexes
from trendweave.store.layout.commits import Commit, is_committed, list_files, new_number, settle
from trendweave.store.layout.compacting import ENOUGH_ROWS, Extent, choose_files
from trendweave.store.layout.declaration import BUCKETS, GROUP_ROWS, Declaration, load_declaration
from trendweave.store.layout.delta import append_to_delta, delta_schema, is_delta, list_delta_files
from trendweave.store.layout.files import DataFile
from trendweave.store.layout.locking import alone
from trendweave.store.layout.moments import read_between
from trendweave.store.layout.places import Place, find_place
from trendweave.store.layout.reading import RowReader
from trendweave.store.layout.writing import deal, file_name, fit_columns, write_file
from trendweave.store.snapshot import Snapshot
from trendweave.store.spark.sink import Sink
from trendweave.store.upkeep import Description, Verified, describe, vacuum, verify

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
        type: str | None = None,
        keys: Sequence[str] = (),
        filesystem: pafs.FileSystem | None = None,
    ) -> EventStore:
        """A store over what is there already: a Delta table, or all files of Parquet below a folder.

        Args:
            path: The folder, or an address such as s3://bucket/folder.
            time: The column of the time.
            type: The column of the type, if there is one.
            keys: Columns that bring events together.
            filesystem: Arrow's file system that has the path, where its address does not say all.

        Raises:
            DataError: There is nothing to read, or the columns are not there.
        """
        place = find_place(path, filesystem)
        known = load_declaration(place)
        files = _list(place)
        if not files and known is None:
            raise DataError([Problem("TW331", f"no Parquet file lies in {place.address}", "is the path right?")])
        if known is None:
            columns = arrow_schema(delta_schema(place)) if is_delta(place) else pa.schema([])
            declared = Declaration(columns, time, type, tuple(keys), buckets=BUCKETS if keys else 1)
        else:
            declared = replace(known, time=time, type=type, keys=tuple(keys) or known.keys)
        store = cls(place, files, declared)
        store.check_columns([time, *([type] if type else []), *keys])
        return store

    @classmethod
    def create(
        cls,
        path: str | Path,
        schema: Any,
        time: str = "time",
        type: str | None = None,
        keys: Sequence[str] = (),
        index: Sequence[str] = (),
        buckets: int | None = None,
        group_rows: int = GROUP_ROWS,
        filesystem: pafs.FileSystem | None = None,
    ) -> EventStore:
        """Make a store that has no events yet.

        Args:
            path: A folder that is empty or not there.
            schema: Its columns: an Arrow schema, a mapping from names to Arrow types, or a table.
            time: The column of the time.
            type: The column of the type, if there is one.
            keys: Events with the same values here are written into the same bucket.
            index: Columns that entries are sorted by.
            buckets: How many buckets there are, where there are keys.
            group_rows: How many rows a row group has, the smallest piece that is read.
            filesystem: Arrow's file system that has the path.

        Raises:
            DataError: There is a store already, or a column is missing.
        """
        place = find_place(path, filesystem)
        columns = arrow_schema(pa.schema(dict(schema)) if isinstance(schema, Mapping) else schema)
        named = [time, *([type] if type else []), *keys, *index]
        raise_problems([Problem("TW301", f"the schema has no column {name}", "add it to the schema")
                        for name in dict.fromkeys(named) if name not in columns.names])  # fmt: skip
        if (buckets is not None and (buckets < 1 or not keys)) or group_rows < 1:
            raise OptionError([Problem("TW408", "buckets go with keys, and are at least one", "name keys, too")])
        number = (BUCKETS if buckets is None else buckets) if keys else 1
        declared = Declaration(columns, time, type, tuple(keys), tuple(index), number, group_rows)
        if list_files(place) or not declared.save(place):
            raise DataError([Problem("TW333", f"{place.address} has files already", "open it, or use EventStore.over")])
        return cls(place, (), declared)

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
        place, declared = self.place, self.declared
        self.__dict__.clear()
        EventStore.__init__(self, place, _list(place), declared)
        return self

    @cached_property
    def is_delta(self) -> bool:
        """Whether the data is a Delta table."""
        return is_delta(self.place)

    def append(self, events: Any, batch: tuple[str, int] | None = None) -> int:
        """Add events: all of them are seen from one moment on, or none.

        Args:
            events: An Arrow table or reader, a pandas or polars frame, or a DataFrame of Spark.
            batch: The name of a stream and the number of a batch: the same batch is added once, however often it comes.

        Returns:
            How many rows were added.

        Raises:
            DataError: The events do not fit the columns of the store.
        """
        number = new_number(batch)
        if batch is not None and is_committed(self.place, number):
            return 0
        if type(events).__module__.split(".")[0] == "pyspark":
            from trendweave.store.spark.append import write_frame

            names, rows = write_frame(events, number, self.place, self.declared, self.schema)
        else:
            table = fit_columns(as_arrow(events)[0], self.declared, self.schema)
            if self.is_delta:
                added = append_to_delta(self.place, table, batch)
                self.refresh()
                return table.num_rows if added else 0
            names, rows = [], table.num_rows
            for bucket, own in deal(table, self.declared):
                names.append(file_name(number, bucket, self.declared))
                write_file(self.place, number, names[-1], own, self.declared)
        told = {} if batch is None else {"stream": batch[0], "number": batch[1]}
        if not self._commit(Commit(number, tuple(names), (), rows, told)):
            return 0
        return rows

    def sink(self, name: str = "sink") -> Sink:
        """A function for `writeStream.foreachBatch` that adds each batch of a stream once.

        Args:
            name: Tells streams that write into one store apart. A stream keeps it as it keeps its checkpoint.
        """
        return Sink(self, name)

    def _commit(self, commit: Commit) -> bool:
        """Record a change, and put files in their place; False where somebody else recorded the same."""
        if not commit.save(self.place):
            return False
        settle(self.place, [commit])
        self.refresh()
        new = [file for file in self.files if file.name in commit.files]
        build_indexes(self.shelf, self.open_files, [(file, False) for file in new], self.declared.index)
        self.refresh()
        return True

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
        return self.refresh()

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
        if self.is_delta:
            hint = "use the table's own OPTIMIZE, then build_index()"
            raise OptionError([Problem("TW408", "a Delta table is not compacted here", hint)])
        with alone(self.place, "compact"):
            settle(self.place)
            self.refresh()
            merged = 0
            for files in choose_files(self._extents(), enough_rows):
                self._merge(files)
                merged += len(files)
                if told is not None:
                    told(files[0].name, len(files))
        return merged

    def _extents(self) -> list[Extent]:
        blocks, found = self.blocks, []
        for number, file in enumerate(self.files):
            own = blocks.file == number
            first, last = (int(blocks.first[own].min()), int(blocks.last[own].max())) if own.any() else (None, None)
            found.append(Extent(file, int(self.groups.rows[self.groups.file == number].sum()), first, last))
        return found

    def _merge(self, files: Sequence[DataFile]) -> None:
        """Write some files of one bucket as one."""
        number, (bucket, buckets) = new_number(), files[0].bucket or (0, 1)
        readers = [RowReader(self.open_files, file, self.schema) for file in files]
        tables = [one.read(range(one.groups), self.schema.names) for one in readers]
        one_bucket = Declaration(self.schema, self.time, None, (), buckets=1, group_rows=self.declared.group_rows)
        names, rows = [], 0
        for _, table in deal(pa.concat_tables(tables), one_bucket):
            names.append(file_name(number, bucket, Declaration(self.schema, self.time, buckets=buckets)))
            write_file(self.place, number, names[-1], table, one_bucket)
            rows += table.num_rows
        self._commit(Commit(number, tuple(names), tuple(file.name for file in files), rows))

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
    ) -> pa.Table:
        """Aggregates of events in windows.

        Args:
            aggregates: Such as `COUNT(*), AVG(price) AS mean`: COUNT, SUM, AVG, MIN and MAX.
            within: How long a window is: `1 day`, or `1000 events`; one window over all where it is left out.
            slide: How far it moves. Windows begin at multiples of it, counted from 1970, or from the first event.
            between: Two moments; only events from the first on and before the second are looked at.
            using: `index` takes what the tree knows, `replay` reads all events, `auto` what costs less.
            spark: A session whose tasks read what has to be read; else this process does.

        Returns:
            A row per window that has an event, in order; of windows of events, a row per full window.

        Raises:
            TrendweaveError: The question cannot be read, or does not fit the store.
        """
        question = self._question(aggregates, within, slide, between)
        if question.windows is not None and question.windows.of_events:
            if spark is not None:
                hint = "leave spark= out"
                raise OptionError([Problem("TW408", "windows of events are answered in this process", hint)])
            return answer_counted(self, question, using)
        plan = make_plan(self, question, using, self.costs)
        if spark is None:
            return answer(self, question, plan)
        from trendweave.store.spark.aggregate import answer_on_spark

        return answer_on_spark(spark, self, question, plan)

    def explain_aggregate(
        self,
        aggregates: str,
        within: str | None = None,
        slide: str | None = None,
        between: Sequence[Any] | None = None,
        using: Using = "auto",
    ) -> Plan:
        """How `aggregate` would answer: what it takes from the tree, what it reads, and what either way costs."""
        question = self._question(aggregates, within, slide, between)
        if question.windows is not None and question.windows.of_events:
            hint = "explain windows of time"
            raise OptionError([Problem("TW408", "windows of events take what blocks know, and read the rest", hint)])
        return make_plan(self, question, using, self.costs)

    def _question(
        self, aggregates: str, within: str | None, slide: str | None, between: Sequence[Any] | None
    ) -> Question:
        windows = read_windows(within, slide, self.kind)
        return Question(read_question(aggregates, self.schema), windows, read_between(between, self.kind))


def _list(place: Place) -> list[DataFile]:
    return list_delta_files(place) if is_delta(place) else list_files(place)
