"""Writers that are killed at any point: rows are those from before or those from after, and all goes on."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from tests.profiles import PROFILE
from tests.store.crashing import OPERATIONS, new_events
from trendweave.store.event_store import EventStore

SCHEMA = {"time": pa.timestamp("us"), "key": pa.string(), "x": pa.float64()}
POINTS = range(40) if PROFILE == "nightly" else (0, 1, 2, 3, 4, 6, 9, 30)


def rows_of(store: EventStore) -> list[str]:
    return sorted(map(repr, store.read().to_pylist()))


def make(folder: Path) -> EventStore:
    """A store of several files per bucket, whose times overlap; some of them were replaced, and one append failed."""
    store = EventStore.create(folder, SCHEMA, keys=["key"], buckets=2, group_rows=3)
    for begin in range(3):
        times = [begin + step for step in (0, 7, 3, 2, 11)]
        store.append(pa.table({"time": times, "key": list("abcab"), "x": [1.0, 2.0, None, 4.0, float("nan")]})
                     .cast(pa.schema(SCHEMA)))  # fmt: skip
    leftover = folder / "_trendweave" / "staging" / ("f" * 32)
    leftover.mkdir(parents=True)
    (leftover / f"part-{'f' * 32}-bucket-00000-of-00002-00000.parquet").write_bytes(b"half of a file")
    return store


@pytest.mark.parametrize("operation", OPERATIONS)
def test_killed_writer_leaves_all_or_nothing(tmp_path: Path, operation: str) -> None:
    store = make(tmp_path / "whole")
    before = rows_of(store)
    after = before
    if operation == "append":
        after = sorted([*before, *map(repr, new_events(store).to_pylist())])
    points = [str(point) for point in POINTS]
    for point in points:
        shutil.copytree(tmp_path / "whole", tmp_path / point, copy_function=shutil.copy2)
    command = [sys.executable, "-m", "tests.store.crashing", operation, str(tmp_path), *points]
    subprocess.run(command, check=True, timeout=300)

    done = [point for point in points if (tmp_path / f"{point}.done").exists()]
    assert points[-1] in done, "the last point is behind the end"
    assert "0" not in done, "the first point is the first change"
    for point in points:
        found = EventStore.open(tmp_path / point)
        assert rows_of(found) in ([after] if point in done else [before, after]), point
        assert found.verify(deep=True).problems == (), point
        # Whoever comes next finishes what was recorded, and sweeps the rest away.
        found.compact()
        assert "staging" not in "".join(found.vacuum("0 seconds")) or operation != "vacuum" or point not in done
        assert rows_of(EventStore.open(tmp_path / point)) in (before, after), point
        own = {file.name for file in found.files}
        assert {path.name for path in (tmp_path / point).rglob("*.parquet")} == own, point
