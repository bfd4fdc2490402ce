"""Hypothesis strategies for operators: event tables with all that is odd, windows, aggregates and joins.

Whatever is drawn comes twice: as the engine takes it (a table, a text), and as the slow twin does (dictionaries,
callables). Drawn things are small, and shrink to smaller ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from tests.reference.operators.aggregation import Wanted
from tests.reference.operators.events import Event
from tests.reference.operators.windows import Rows, Span

LOWEST, HIGHEST = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class Clock:
    """A kind of time column.

    Attributes:
        arrow: Its type.
        unit: A word for a length of one tick, which the times and windows of a case count in.
        tick: Steps in a tick; a step is what the engine counts in.
        fine: A word for a length that is finer than a step, and how many of them a step has.
    """

    arrow: pa.DataType
    unit: str
    tick: int = 1
    fine: tuple[str, int] | None = None

    def column(self, steps: list[int | None], noise: list[float] | None = None) -> pa.Array:
        """Times as they are stored; `noise` moves float seconds by less than half a microsecond."""
        if pa.types.is_floating(self.arrow):
            moved = noise or [0.0] * len(steps)
            seconds = [None if step is None else step / 1e6 + part for step, part in zip(steps, moved, strict=True)]
            return pa.array(seconds, self.arrow)
        numbers = pa.array(steps, pa.int64())
        return numbers.cast(self.arrow)

    def steps(self, column: pa.ChunkedArray) -> list[int | None]:
        """What stands in such a column, as steps."""
        if pa.types.is_floating(self.arrow):
            return [None if value is None else round(Fraction(value) * 10**6) for value in column.to_pylist()]
        return list(column.cast(pa.int64()).to_pylist())


CLOCKS = {
    "microseconds": Clock(pa.timestamp("us"), "microseconds", fine=("nanoseconds", 1000)),
    "microseconds with a zone": Clock(pa.timestamp("us", "America/New_York"), "microseconds"),
    "nanoseconds": Clock(pa.timestamp("ns"), "nanoseconds"),
    "milliseconds": Clock(pa.timestamp("ms", "UTC"), "milliseconds", fine=("microseconds", 1000)),
    "timestamps of seconds": Clock(pa.timestamp("s"), "seconds", fine=("milliseconds", 1000)),
    "seconds": Clock(pa.int64(), "seconds", fine=("milliseconds", 1000)),
    "short seconds": Clock(pa.int16(), "seconds"),
    "float seconds": Clock(pa.float64(), "milliseconds", 1000),
}
#: Spark knows timestamps of microseconds and numbers.
CLOCKS_OF_SPARK = ("microseconds", "seconds", "float seconds")

#: The columns that tables are made of. `k`, `g` and `z` are for keys.
COLUMNS: dict[str, pa.DataType] = {
    "k": pa.int64(),
    "g": pa.string(),
    "z": pa.float64(),
    "x": pa.float64(),
    "f": pa.float32(),
    "n": pa.int64(),
    "small": pa.int16(),
    "price": pa.decimal128(9, 2),
    "word": pa.string(),
    "flag": pa.bool_(),
    "day": pa.date32(),
}
_WORDS = ["", "a", "b", "B", "é", "long" * 9]
_FLOATS = st.one_of(
    st.sampled_from([0.1, 0.5, -3.0, 1e16, -1e16, 1.0, 0.0, -0.0, float("nan"), float("inf"), -float("inf")]),
    st.integers(-4, 4).map(float),
    st.floats(-100, 100),
)
_SHORT_FLOATS = st.one_of(_FLOATS, st.floats(width=32)).map(lambda value: float(np.float32(value)))
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "k": st.none() | st.integers(0, 2),
    "g": st.none() | st.sampled_from(["a", "b"]),
    "z": st.sampled_from([None, 0.0, -0.0, 1.5, float("nan")]),
    "x": st.none() | _FLOATS,
    "f": st.none() | _SHORT_FLOATS,
    "n": st.none() | st.integers(-5, 5) | st.sampled_from([LOWEST, LOWEST + 1, HIGHEST - 1, HIGHEST]),
    "small": st.none() | st.integers(-3, 3) | st.sampled_from([-(2**15), 2**15 - 1]),
    "price": st.none() | st.integers(-300, 300).map(lambda cents: Decimal(cents).scaleb(-2)),
    "word": st.none() | st.sampled_from(_WORDS),
    "flag": st.none() | st.booleans(),
    "day": st.none() | st.integers(1, 4).map(lambda day: date(2020, 2, day)),
}


@dataclass(frozen=True)
class Stream:
    """Events, twice.

    Attributes:
        table: As the engine takes them; `time` stands anywhere among the columns.
        events: As the twin takes them: the same rows with times in steps.
        clock: The kind of the time column.
    """

    table: pa.Table
    events: list[Event]
    clock: Clock

    @property
    def schema(self) -> list[str]:
        """The names of the columns, as they stand."""
        return list(self.table.column_names)


def make_stream(table: pa.Table, clock: Clock) -> Stream:
    """The twin's events are read from the table, so both have the same values."""
    events = table.drop_columns("time").to_pylist() if table.num_columns > 1 else [{} for _ in range(table.num_rows)]
    steps = clock.steps(table.column("time"))
    ordered = [
        {name: (step if name == "time" else event[name]) for name in table.column_names}
        for event, step in zip(events, steps, strict=True)
    ]
    return Stream(table, ordered, clock)


@st.composite
def streams(
    draw: st.DrawFn,
    clock: Clock,
    columns: tuple[str, ...],
    most: int = 14,
    span: int = 20,
    null_times: bool = True,
    chunks: bool = True,
) -> Stream:
    """Few events with many ties, duplicates, NULLs, in any order, in chunks some of which are empty."""
    moments = st.integers(-span, span) | st.integers(0, 3)
    size = draw(st.integers(0, most))
    ticks: list[int | None] = draw(st.lists(moments, min_size=size, max_size=size))
    if draw(st.booleans()):
        ticks = sorted(ticks)
    if null_times and size and draw(st.integers(0, 3)) == 0:
        ticks[draw(st.integers(0, size - 1))] = None
    drawn = {name: draw(st.lists(VALUES[name], min_size=size, max_size=size)) for name in columns}
    if size > 1 and draw(st.booleans()):
        one, two = draw(st.integers(0, size - 1)), draw(st.integers(0, size - 1))
        ticks[one] = ticks[two]
        for values in drawn.values():
            values[one] = values[two]
    steps = [None if tick is None else tick * clock.tick for tick in ticks]
    noise = draw(st.lists(st.sampled_from([0.0, 1e-8, -1e-8]), min_size=size, max_size=size))
    arrays = {name: pa.array(values, COLUMNS[name]) for name, values in drawn.items()}
    names = draw(st.permutations([*columns, "time"]))
    arrays["time"] = clock.column(steps, noise)
    table = pa.table({name: arrays[name] for name in names})
    if chunks and size > 1 and draw(st.booleans()):
        cut = draw(st.integers(0, size))
        table = pa.concat_tables([table.slice(0, cut), table.slice(0, 0), table.slice(cut)])
    return make_stream(table, clock)


clocks = st.sampled_from(sorted(CLOCKS)).map(CLOCKS.__getitem__)
clocks_of_spark = st.sampled_from(CLOCKS_OF_SPARK).map(CLOCKS.__getitem__)


# ------------------------------------------------------------------------------------------------------------- windows


@dataclass(frozen=True)
class Windows:
    """Windows of an aggregation: options of the call, and the twin's."""

    options: dict[str, Any]
    window: Rows | Span


@st.composite
def aggregate_windows(draw: st.DrawFn, clock: Clock) -> Windows:
    """Time windows with odd slides, count windows with a slide below, at and above their size."""
    size = draw(st.integers(1, 9))
    if draw(st.booleans()):
        slide = draw(st.integers(1, size))
        within = Span(size * clock.tick, slide * clock.tick)
        options = {"within": f"{size} {clock.unit}", "slide": f"{slide} {clock.unit}"}
        if slide == size and draw(st.booleans()):
            del options["slide"]
        return Windows(options, within)
    size = draw(st.integers(1, 5))
    slide = draw(st.integers(1, 7))
    counts = {"rows": size, "slide_rows": slide}
    if slide == size and draw(st.booleans()):
        del counts["slide_rows"]
    return Windows(counts, Rows(size, slide))


@st.composite
def join_windows(draw: st.DrawFn, clock: Clock) -> tuple[str, Rows | Span]:
    """A window over a side of a join, as a text and as the twin's."""
    size, slide = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    kind = draw(st.sampled_from(["rows", "rows that slide", "time", "fine time", "time that slides"]))
    if kind == "rows":
        return f"{size} rows", Rows(size)
    if kind == "rows that slide":
        return f"{size} rows slide {slide} rows", Rows(size, slide)
    if kind == "fine time" and clock.fine is not None:
        unit, number = clock.fine
        fine = size * number + draw(st.integers(0, number - 1))
        return f"{fine} {unit}", Span(Fraction(fine, number))
    if kind == "time that slides":
        slide = min(slide, size)
        return f"{size} {clock.unit} slide {slide} {clock.unit}", Span(size * clock.tick, slide * clock.tick)
    return f"{size} {clock.unit}", Span(size * clock.tick)


# ----------------------------------------------------------------------------------------------------- what is asked


_NUMBERS = ("x", "f", "n", "small", "price")
_EXTREMES = (*_NUMBERS, "word", "flag", "day")


@st.composite
def outputs(draw: st.DrawFn, columns: tuple[str, ...] = (*_EXTREMES,)) -> tuple[str, list[Wanted]]:
    """Aggregates as a text, and as the twin takes them."""
    possible: list[tuple[str, str | None]] = [("COUNT", None)]
    possible += [("COUNT", column) for column in columns]
    possible += [(function, column) for function in ("SUM", "AVG") for column in columns if column in _NUMBERS]
    possible += [(function, column) for function in ("MIN", "MAX") for column in columns if column in _EXTREMES]
    chosen = draw(st.lists(st.sampled_from(possible), min_size=1, max_size=4))
    wanted, texts = [], []
    for number, (function, column) in enumerate(chosen):
        wanted.append((f"out_{number}", function, column))
        texts.append(f"{function}({column or '*'}) AS out_{number}")
    return ", ".join(texts), wanted


keys = st.lists(st.sampled_from(["k", "g", "z"]), max_size=2, unique=True)
