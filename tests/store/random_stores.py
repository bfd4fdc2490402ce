"""Small stores of any shape: several files, unsorted, with overlapping times, columns that were added later, NULL, NaN,
numbers of any size, no rows at all, in small row groups, with and without an index."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from trendweave.store.event_store import EventStore

TIMES = {
    "microseconds": (pa.timestamp("us"), 1),
    "milliseconds with a zone": (pa.timestamp("ms", "UTC"), 1),
    "seconds": (pa.int64(), 1),
}
COLUMNS = {"x": pa.float64(), "k": pa.int64(), "small": pa.int16(), "price": pa.decimal128(9, 2), "word": pa.string()}


@dataclass(frozen=True)
class Written:
    """A store as it was made.

    Attributes:
        events: All rows as dictionaries, in the order of files and of rows in them.
        files: The same, file by file, as tables.
        groups: How many rows a row group of each file has.
        indexed: Which files have an index.
        block: How many events a block has.
    """

    events: list[dict[str, Any]]
    files: list[pa.Table]
    groups: list[int]
    indexed: list[bool]
    block: int

    def make(self, folder: Path, columns: tuple[str, ...] = ()) -> EventStore:
        """Write it into a folder; files that have an index are written first."""
        folder.mkdir()
        for indexed in (True, False):
            for number, (table, group) in enumerate(zip(self.files, self.groups, strict=True)):
                if self.indexed[number] is indexed:
                    pq.write_table(table, folder / f"{number:03}.parquet", row_group_size=group)
            if indexed and any(self.indexed):
                EventStore.over(folder).build_index(columns, events_per_block=self.block)
        return EventStore.over(folder)


_FLOATS = st.one_of(
    st.sampled_from([0.1, 0.5, -3.0, 1e16, -1e16, 1.0, 0.0, -0.0]),
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(-100, 100),
)
_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "x": st.none() | _FLOATS,
    "k": st.none() | st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5),
    "small": st.none() | st.integers(-(2**15), 2**15 - 1),
    "price": st.none() | st.decimals(-9_999_999, 9_999_999, places=2),
    "word": st.none() | st.sampled_from(["", "a", "b", "long" * 20]),
}


@st.composite
def stores(draw: st.DrawFn, span: int = 60, kind: pa.DataType = TIMES["microseconds"][0]) -> Written:
    """A store of a few files."""
    added = draw(st.dictionaries(st.sampled_from(["small", "price", "word"]), st.integers(0, 3)))
    files, events = [], []
    times = st.integers(-span, span)
    for number in range(draw(st.integers(1, 3))):
        names = [name for name in COLUMNS if added.get(name, 0) <= number]
        size = draw(st.integers(0, 30))
        moment = times | st.none() if draw(st.booleans()) else times
        moments = draw(st.lists(moment, min_size=size, max_size=size))
        if draw(st.booleans()):
            moments = sorted(moments, key=lambda moment: (moment is None, moment))
        columns = {name: draw(st.lists(_VALUES[name], min_size=len(moments), max_size=len(moments))) for name in names}
        rows = {"time": pa.array(moments, pa.int64()).cast(kind)}
        rows |= {name: pa.array(values, COLUMNS[name]) for name, values in columns.items()}
        files.append(pa.table(rows))
        for place, moment in enumerate(moments):
            events.append({"time": moment} | {name: values[place] for name, values in columns.items()})
    return Written(
        events,
        files,
        draw(st.lists(st.sampled_from([1, 5, 12, 40]), min_size=len(files), max_size=len(files))),
        draw(st.lists(st.sampled_from([True, True, False]), min_size=len(files), max_size=len(files))),
        draw(st.sampled_from([1, 2, 3, 5, 1000])),
    )


class Folders:
    """New folders, one per random case, as a fixture lives as long as the test."""

    def __init__(self, path: Path) -> None:
        self._path, self._numbers = path, itertools.count()

    def __call__(self) -> Path:
        return self._path / str(next(self._numbers))
