"""Index files that are cut short, altered, swapped, old or foreign: told of, left alone, and the rows stay the same."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.operators.running import assert_tables
from tests.profiles import PROFILE
from trendweave.store.event_store import EventStore

PLAIN = {"row_group_size": 64, "compression": "none", "use_dictionary": False}
QUESTION = ("COUNT(*), SUM(x), MIN(x), MAX(k)", "20 seconds", "10 seconds")


def make(folder: Path) -> EventStore:
    for number in range(2):
        times = np.arange(300) * 1_000_000 + number
        # Both files have the same size and the same footer but for the statistics.
        table = pa.table({"time": pa.array(times, pa.timestamp("us")), "x": np.arange(300) / 3 + number,
                          "k": np.arange(300), "word": ["a", "b", "c"] * 100})  # fmt: skip
        pq.write_table(table, folder / f"{number}.parquet", **PLAIN)
    return EventStore.over(folder).build_index(["x", "word"], events_per_block=10)


def light(folder: Path, number: int = 0) -> Path:
    return folder / "_trendweave" / "index" / f"{number}.parquet.light.twx"


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-30])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip_in_header(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[40] ^= 1
    path.write_bytes(data)


def flip_in_arrays(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-300] ^= 1
    path.write_bytes(data)


def swap(path: Path) -> None:
    other = path.with_name(path.name.replace("0.parquet", "1.parquet"))
    data = path.read_bytes(), other.read_bytes()
    path.write_bytes(data[1])
    other.write_bytes(data[0])


def foreign(path: Path) -> None:
    path.write_bytes(b"something else altogether " * 100)


def longer(path: Path) -> None:
    path.write_bytes(path.read_bytes() + bytes(64))


DAMAGES = [cut_short, empty, flip_in_header, flip_in_arrays, swap, foreign, longer]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", ["light", "by-x", "by-word"])
def test_damaged_index(
    tmp_path: Path, damage: Callable[[Path], None], kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = make(tmp_path)
    expected = store.aggregate(*QUESTION, using="replay")
    found_before = store.lookup("x", ">", 50).row.size
    path = light(tmp_path)
    damage(path.with_name(path.name.replace("light", kind)))
    caplog.clear()

    opened = EventStore.over(tmp_path)
    assert_tables(opened.aggregate(*QUESTION, using="index"), expected)
    opened.blocks.may_hold("word", "=", "a")
    hits = opened.lookup("x", ">", 50)
    opened.lookup("word", "=", "a")

    assert hits.row.size == found_before or hits.missing
    assert "build_index() rebuilds it" in caplog.text
    assert opened.verify().problems
    mended = opened.build_index(["x", "word"], events_per_block=10)
    assert mended.verify(deep=True).is_well or kind == "light" or damage is flip_in_arrays


def test_any_byte(tmp_path: Path) -> None:
    """Whatever byte changes, the answer does not."""
    (tmp_path / "whole").mkdir()
    whole = make(tmp_path / "whole")
    expected, hits = whole.aggregate(*QUESTION, using="replay"), whole.lookup("x", "<", 20).row.size
    generator = random.Random(7)
    for trial in range(400 if PROFILE == "nightly" else 25):
        folder = tmp_path / "changed"
        shutil.copytree(tmp_path / "whole", folder, copy_function=shutil.copy2)
        path = generator.choice(sorted((folder / "_trendweave").rglob("*.twx")))
        data = bytearray(path.read_bytes())
        place = generator.randrange(len(data))
        data[place] ^= 1 << generator.randrange(8)
        path.write_bytes(data)

        opened = EventStore.over(folder)
        assert_tables(opened.aggregate(*QUESTION, using="index"), expected)
        found = opened.lookup("x", "<", 20)
        assert found.missing or found.row.size == hits, (trial, path, place)
        shutil.rmtree(folder)


def test_data_that_was_written_anew_has_no_index(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    old = make(tmp_path).aggregate(*QUESTION, using="index")
    file = tmp_path / "0.parquet"
    before = os.stat(file)
    table = pq.read_table(file)
    # Another content of the same size, at the same time: only the footer tells.
    other = table.set_column(1, "x", pa.array(np.arange(300)[::-1] / 3 + 500))
    pq.write_table(other, file, **PLAIN)
    assert os.stat(file).st_size == before.st_size
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    expected = EventStore.over(tmp_path).aggregate(*QUESTION, using="replay")

    opened = EventStore.over(tmp_path)
    assert_tables(opened.aggregate(*QUESTION, using="index"), expected)
    assert not expected.equals(old)
    assert "0.parquet.light.twx" in caplog.text
    opened.build_index(["x", "word"])
    assert opened.verify(deep=True).is_well
    assert_tables(opened.aggregate(*QUESTION, using="index"), expected)


def test_index_without_data_is_swept(tmp_path: Path) -> None:
    store = make(tmp_path)
    (tmp_path / "0.parquet").unlink()

    assert store.refresh().read().num_rows == 300
    assert [name for name in store.vacuum("0 seconds") if name.endswith(".twx")] == [
        f"_trendweave/index/0.parquet.{kind}.twx" for kind in ("by-word", "by-x", "light")
    ]
    assert store.verify().is_well
