"""What a running stream tells about itself: a view that lives on a terminal, and lines for programs in a pipe.

Counts come from the JSON form of Spark's progress, one per micro-batch. Nothing here knows Spark.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import zip_longest
from statistics import median
from typing import IO, Any

import pyarrow as pa
from rich.console import Console, Group, RenderableType
from rich.filesize import decimal as bytes_text
from rich.live import Live
from rich.table import Table
from rich.text import Text

from trendweave.cli.answers import Answers
from trendweave.cli.files import write_json_line
from trendweave.cli.tables import make_rich_table, write_cell
from trendweave.pictures.times import write_far_times

#: Names of the metrics in the progress: of the query itself, of what it reads, of the source, and of its rows.
METRICS = "trendweave"
READ, SOURCE, ROWS = f"{METRICS}_read", f"{METRICS}_source", f"{METRICS}_rows"

#: Queries whose rows are counted one by one; beyond, Spark would count more than it computes.
MOST_COUNTED = 100

_KEPT_BATCHES = 100
_KEPT_ROWS = 1_000
_LINES_OF_COUNTS = 12
#: Of a table of queries, besides the queries.
_LINES_OF_A_TABLE = 4


def rows_of(number: int) -> str:
    """The name of the metric that counts rows of one query, by its number."""
    return f"rows_{number}"


@dataclass(slots=True, kw_only=True)
class Numbers:
    """What is added up over micro-batches; `rows_of_each` are the rows of each query, where there are many."""

    events: int = 0
    rows: int = 0
    late: int = 0
    no_time: int = 0
    no_type: int = 0
    other_type: int = 0
    unreadable: int = 0
    rows_of_each: tuple[int, ...] = ()


@dataclass(slots=True, kw_only=True)
class MicroBatch(Numbers):
    """One micro-batch. `watermark` is None before any event; `seconds` is how long the micro-batch took."""

    per_second: float
    seconds: float
    watermark: datetime | None
    state_rows: int
    state_on_disk: int
    state_in_memory: int

    @classmethod
    def read(cls, progress: Mapping[str, Any]) -> MicroBatch | None:
        """Read what Spark says about a micro-batch.

        Args:
            progress: Its JSON form.

        Returns:
            The counts; None for a trigger that found nothing to do, as Spark reports those as well.
        """
        took = progress["durationMs"]
        if "addBatch" not in took:
            return None
        metrics = progress.get("observedMetrics", {})
        read, found, given = metrics.get(READ, {}), metrics.get(METRICS, {}), metrics.get(ROWS, {})
        states = progress.get("stateOperators", [])
        return cls(
            events=read.get("rows", 0),
            per_second=_read_number(progress.get("processedRowsPerSecond")),
            seconds=took["triggerExecution"] / 1_000,
            watermark=_read_watermark(progress.get("eventTime", {}).get("watermark")),
            rows=given.get("rows", 0),
            late=found.get("late", 0),
            no_time=read.get("null_time", 0),
            no_type=read.get("null_type", 0),
            other_type=read.get("other_type", 0),
            unreadable=metrics.get(SOURCE, {}).get("unreadable", 0),
            state_rows=sum(state["numRowsTotal"] for state in states),
            state_on_disk=sum(state["customMetrics"].get("rocksdbSstFileSize", 0) for state in states),
            state_in_memory=sum(state["memoryUsedBytes"] for state in states),
            rows_of_each=tuple(given[rows_of(number)] for number in range(len(given) - 1)),
        )


def _read_number(value: Any) -> float:
    """Spark writes NaN and infinity as texts, or not at all."""
    return float(value) if isinstance(value, int | float) else 0.0


def _read_watermark(text: str | None) -> datetime | None:
    found = None if text is None else datetime.fromisoformat(text)
    return found if found is not None and found.timestamp() > 0 else None


@dataclass(slots=True, kw_only=True)
class Counts(Numbers):
    """Sums over the micro-batches since the stream was started, and what the latest ones said."""

    batches: int = 0
    per_second: float = 0.0
    watermark: datetime | None = None
    latest: deque[MicroBatch] = field(default_factory=lambda: deque(maxlen=_KEPT_BATCHES))

    def add(self, batch: MicroBatch) -> None:
        """Add one micro-batch."""
        self.batches += 1
        for name in ("events", "rows", "late", "no_time", "no_type", "other_type", "unreadable"):
            setattr(self, name, getattr(self, name) + getattr(batch, name))
        pairs = zip_longest(self.rows_of_each, batch.rows_of_each, fillvalue=0)
        self.rows_of_each = tuple(before + more for before, more in pairs)
        if batch.events:
            self.per_second = batch.per_second
        self.watermark = batch.watermark or self.watermark
        self.latest.append(batch)

    def describe_queries(self, names: Sequence[str]) -> list[tuple[str, int, float]]:
        """Per query that gave rows: its name, how many they were, and how many per second of late; those with most
        rows first."""
        seconds = sum(batch.seconds for batch in self.latest) or 1.0
        found = []
        for number, (name, rows) in enumerate(zip(names, self.rows_of_each, strict=False)):
            of_late = sum(batch.rows_of_each[number] for batch in self.latest if batch.rows_of_each)
            found.append((name, rows, of_late / seconds))
        return sorted((one for one in found if one[1]), key=lambda one: -one[1])

    def describe(self, time_is_number: bool) -> list[tuple[str, str]]:
        """Write for people what each count is, and the count."""
        lines = [
            ("events", f"{self.events:,} read, {self.per_second:,.0f} per second"),
            ("rows", f"{self.rows:,}"),
            ("watermark", self._write_watermark(time_is_number)),
            ("late", f"{self.late:,} dropped"),
            ("dropped", self._describe_dropped()),
        ]
        if self.latest:
            last, seconds = self.latest[-1], [batch.seconds for batch in self.latest]
            held = f"{bytes_text(last.state_on_disk)} on disk, {bytes_text(last.state_in_memory)} in memory"
            lines.append(("state", f"{last.state_rows:,} rows, {held}"))
            took = f"last {last.seconds:,.1f} s, median {median(seconds):,.1f} s, slowest {max(seconds):,.1f} s"
            lines.append(("batches", f"{self.batches:,}, {took}"))
        return lines

    def _write_watermark(self, time_is_number: bool) -> str:
        if self.watermark is None:
            return "none yet"
        return f"{self.watermark.timestamp():,.15g}" if time_is_number else write_cell(self.watermark)

    def _describe_dropped(self) -> str:
        parts = [f"{self.no_time:,} rows without a time", f"{self.no_type:,} without a type"]
        if self.unreadable:
            parts.append(f"{self.unreadable:,} that cannot be read")
        if self.other_type:
            parts.append(f"{self.other_type:,} of other types")
        return ", ".join(parts)


def _write_rate(rate: float) -> str:
    """Rules that rarely find something have a rate, too."""
    return f"{rate:,.1f}" if rate >= 10 else f"{rate:.2g}"


class LinesView:
    """For programs: each row a JSON object on a line, and the counts at the end, elsewhere.

    Rows come from another thread than the rest."""

    def __init__(self, out: IO[str], errors: Console, answers: Answers, time_is_number: bool) -> None:
        self._out, self._errors, self._answers, self._time_is_number = out, errors, answers, time_is_number
        self._counts = Counts()

    def show_rows(self, table: pa.Table) -> None:
        """Write rows, each with the columns of its query."""
        rows = write_far_times(table).to_pylist()
        self._out.write("".join(write_json_line(self._answers.tell(row)) for row in rows))
        self._out.flush()

    def show_progress(self, batch: MicroBatch) -> None:
        """Add to the counts."""
        self._counts.add(batch)

    def announce_stop(self) -> None:
        """Nothing: programs see the end."""

    def close(self) -> None:
        """Tell the counts."""
        for name, value in self._counts.describe(self._time_is_number):
            self._tell(f"{name}: {value}")
        for name, rows, per_second in self._counts.describe_queries(self._answers.names):
            self._tell(f"query {name}: {rows:,} rows, {_write_rate(per_second)} per second")

    def _tell(self, line: str) -> None:
        self._errors.print(line, markup=False, highlight=False, soft_wrap=True)


class LiveView(LinesView):
    """For people at a terminal: counts, and below them the latest rows. `answers` tells rows apart, so that an early
    row of a window gives way to the next one, and whose they are."""

    def __init__(self, console: Console, title: str, answers: Answers, time_is_number: bool) -> None:
        super().__init__(console.file, console, answers, time_is_number)
        self._console, self._title = console, title
        self._latest: dict[tuple[Any, ...], dict[str, Any]] = {}
        self._schema: pa.Schema | None = None
        self._state = "starting"
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._live = Live(get_renderable=self.draw, console=console, refresh_per_second=4)
        self._live.start()

    def show_rows(self, table: pa.Table) -> None:
        """Write rows, or let them take the place of earlier ones."""
        with self._lock:
            table = write_far_times(table)
            if self._schema is not None and self._schema.types != table.schema.types:
                self._latest.clear()  # times are text now, or no longer, and rows stand in one table
            self._schema = table.schema
            for row in table.to_pylist():
                key = self._answers.key(row)
                self._latest.pop(key, None)
                self._latest[key] = row
            for key in list(self._latest)[:-_KEPT_ROWS]:
                del self._latest[key]

    def show_progress(self, batch: MicroBatch) -> None:
        """Add to the counts."""
        with self._lock:
            self._counts.add(batch)
            if self._state == "starting":
                self._state = "running"

    def announce_stop(self) -> None:
        """Say so in the head line."""
        with self._lock:
            self._state = "stopping"

    def close(self) -> None:
        """Leave the last picture on the terminal."""
        with self._lock:
            self._state = "stopped"
        self._live.stop()

    def draw(self) -> RenderableType:
        """Draw counts, and below them as many of the latest rows as there is room for."""
        with self._lock:
            counts = Table.grid(padding=(0, 2))
            for name, value in self._counts.describe(self._time_is_number):
                counts.add_row(Text(name, style="bold"), Text(value))
            minutes, seconds = divmod(int(time.monotonic() - self._began), 60)
            hint = {"stopped": "", "stopping": "; Ctrl-C again leaves at once"}.get(self._state, "; Ctrl-C stops")
            head = Text(f"{self._title}: {self._state}, {minutes:,}:{seconds:02}{hint}", style="bold")
            shown: list[RenderableType] = [head, counts]
            room = max(3, self._console.size.height - _LINES_OF_COUNTS)
            queries = self._counts.describe_queries(self._answers.names)
            if queries:
                most = max(3, room // 2 - _LINES_OF_A_TABLE)
                shown.append(_draw_queries(queries, most))
                room = max(3, room - min(len(queries), most) - _LINES_OF_A_TABLE - (len(queries) > most))
            if self._schema is not None and self._latest:
                latest = list(self._latest.values())[-room:]
                shown.append(make_rich_table(self._answers.show(latest, self._schema)))
            return Group(*shown)


def _draw_queries(queries: Sequence[tuple[str, int, float]], most: int) -> RenderableType:
    """Rows and rates of the queries that give most rows."""
    table = Table(header_style="bold")
    table.add_column("query", overflow="fold")
    table.add_column("rows", justify="right")
    table.add_column("per second", justify="right")
    for name, rows, per_second in queries[:most]:
        table.add_row(Text(name), f"{rows:,}", _write_rate(per_second))
    more = len(queries) - most
    return Group(table, Text(f"... and {more:,} more queries")) if more > 0 else table
