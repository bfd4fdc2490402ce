"""Random events in files of any layout, with indexes on some columns of some files; and random choices of indexes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as hs
from hypothesis.strategies import DrawFn

from tests.runners.reference_tables import table_of
from trendweave.store.event_store import EventStore
from trendweave.store.patterns import plan_access
from trendweave.store.patterns.costs import Chosen, Weights, count_entries

INDEXED = ("x", "y", "s", "type", "k")


@hs.composite
def far_apart(draw: DrawFn, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same events, several times over with long pauses and other values, so that some can be left out."""
    copies = draw(hs.integers(1, 4))
    pause = draw(hs.sampled_from([3, 20, 100]))
    longest = max((event["time"] or 0 for event in events), default=0) - min(
        (event["time"] or 0 for event in events), default=0
    )
    found = []
    for copy in range(copies):
        added = draw(hs.sampled_from([0, 0, -3, 4]))
        kept = draw(hs.integers(0, len(events)))
        for event in events[:kept] if copy else events:
            moved = dict(event)
            if moved["time"] is not None:
                moved["time"] += copy * (longest + pause)
            if moved["x"] is not None:
                moved["x"] += added
            found.append(moved)
    return found


@hs.composite
def stores(draw: DrawFn, events: list[dict[str, Any]]) -> Layout:
    """How events lie in files."""
    order = draw(hs.sampled_from(["time", "time", "as they come", "mixed"]))
    rows = list(range(len(events)))
    if order == "time":
        rows.sort(key=lambda row: (events[row]["time"] is None, events[row]["time"]))
    elif order == "mixed":
        rows = draw(hs.permutations(rows))
    number = draw(hs.integers(1, 3))
    cuts = sorted(draw(hs.lists(hs.integers(0, len(rows)), min_size=number - 1, max_size=number - 1)))
    files = [[events[row] for row in rows[low:high]] for low, high in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    return Layout(
        files,
        [draw(hs.integers(1, 4)) for _ in files],
        draw(hs.integers(0, len(files))),
        draw(hs.lists(hs.sampled_from(INDEXED), unique=True)),
        draw(hs.lists(hs.sampled_from(INDEXED), unique=True)),
        draw(hs.sampled_from([None, None, None, "x", "y", "s", "k"])),
    )


class Layout:
    """Files, the rows of their row groups, how many files get indexes, and which columns: of the first file, and of
    the others. The first file lacks the column `later`."""

    def __init__(
        self,
        files: list[list[dict[str, Any]]],
        sizes: list[int],
        indexed: int,
        first: list[str],
        others: list[str],
        later: str | None = None,
    ) -> None:
        self.files, self.sizes, self.indexed, self.first, self.others = files, sizes, indexed, first, others
        self.later = later if len(files) > 1 else None
        if self.later is not None:
            self.files = [[{**event, self.later: None} for event in files[0]], *files[1:]]

    def __repr__(self) -> str:
        return f"Layout({self.files}, {self.sizes}, {self.indexed}, {self.first}, {self.others}, {self.later!r})"

    def write(self, folder: Path) -> EventStore:
        """The store, opened anew."""
        for number, (events, size) in enumerate(zip(self.files, self.sizes, strict=True)):
            table = table_of(events)
            if number == 0 and self.later is not None:
                table = table.drop_columns([self.later])
            pq.write_table(table, folder / f"file-{number}.parquet", row_group_size=size)
            if number + 1 == self.indexed:
                self._index(folder, self.others)
            elif number == 0 and self.indexed:
                self._index(folder, self.first)
        return self.open(folder)

    def _index(self, folder: Path, columns: list[str]) -> None:
        store = self.open(folder)
        store.build_index([name for name in columns if name in store.schema.names])

    @staticmethod
    def open(folder: Path) -> EventStore:
        return EventStore.over(folder, time="time", type="type")


@contextmanager
def chosen_at_random(data: hs.DataObject) -> Iterator[None]:
    """Inside, any of the indexes that can be asked are asked, whatever they cost."""
    # Drawn before: a query runs in a thread of its own, and there Hypothesis draws nothing.
    answers = cycle(data.draw(hs.lists(hs.booleans(), min_size=24, max_size=24), label="indexes to ask"))

    def choose(requirements: Any, store: EventStore, sections: Sequence[Any], shown: float, weights: Weights) -> Chosen:
        found = choose_indexes(requirements, store, sections, shown, weights)
        if len(requirements.templates) != 1:
            return found
        asked = count_entries(requirements.templates[0], store)
        return replace(found, asked=tuple(one for one, taken in zip(asked, answers, strict=False) if taken))

    choose_indexes = plan_access.choose_indexes
    with mock.patch.object(plan_access, "choose_indexes", choose):
        yield


def read_all(layout: Layout) -> pa.Table:
    """All events in one table."""
    return table_of([event for events in layout.files for event in events])
