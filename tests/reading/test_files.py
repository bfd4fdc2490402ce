"""Where files are, and what the folders that they lie in say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from trendweave.errors import DataError
from trendweave.runners.spark.parquet_files import convert, list_files


class _Frame:
    """A DataFrame that reads some files."""

    def __init__(self, *addresses: str) -> None:
        self._addresses = addresses

    def inputFiles(self) -> list[str]:
        return list(self._addresses)


@pytest.mark.parametrize(
    ("address", "paths", "base", "place", "folders"),
    [
        ("file:///data/a.parquet", ["/data"], None, "/data/a.parquet", ()),
        ("file:/data/a%20b%2525.parquet", ["/data"], None, "/data/a b%25.parquet", ()),
        ("file:///d/x=1/y=a%2520b/p", ["/d/"], None, "/d/x=1/y=a%20b/p", (("x", "1"), ("y", "a b"))),
        ("file:///d/x=__HIVE_DEFAULT_PARTITION__/p", ["/d"], None, "/d/x=__HIVE_DEFAULT_PARTITION__/p", (("x", None),)),
        ("file:///d/x=1/p", ["/d/x=1"], None, "/d/x=1/p", ()),
        ("file:///d/x=1/p", ["/d/x=1/p"], None, "/d/x=1/p", ()),
        ("file:///d/x=1/y=2/p", ["/d/x=*"], None, "/d/x=1/y=2/p", (("y", "2"),)),
        ("file:///d/x=1/p", ["file:/d/\\\\?/.."], None, "/d/x=1/p", (("x", "1"),)),
        ("file:///d/x=1/p", ["/d/x=*"], "/d", "/d/x=1/p", (("x", "1"),)),
        ("file:///d/sub/x=a=b/p", ["file:///d"], None, "/d/sub/x=a=b/p", (("x", "a=b"),)),
    ],
)
def test_places_and_folders(
    address: str, paths: list[str], base: str | None, place: str, folders: tuple[tuple[str, str | None], ...]
) -> None:
    frame: Any = _Frame(address)
    (file,) = list_files(frame, paths, base)
    assert (file.place, file.folders, file.size) == (place, folders, None)


def test_sizes_are_known_of_files_that_are_here(tmp_path: Path) -> None:
    (tmp_path / "x=1").mkdir()
    (tmp_path / "x=1" / "a.parquet").write_bytes(b"four")
    frame: Any = _Frame((tmp_path / "x=1" / "a.parquet").as_uri())
    (file,) = list_files(frame, [str(tmp_path)], None, by_folders=False)
    assert (file.size, file.folders) == (4, ())


def test_file_systems_that_arrow_does_not_know_are_refused() -> None:
    frame: Any = _Frame("wasbs://box@store/a.parquet")
    with pytest.raises(DataError, match=r"wasbs://box@store/a.parquet cannot be read by tasks themselves"):
        list_files(frame, ["wasbs://box@store/a.parquet"], None)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (pa.array(["1"]), pa.int64()),
        (pa.array([1.5]), pa.int64()),
        (pa.array([1.5]), pa.float32()),
        (pa.array([2**40]), pa.int32()),
        (pa.array([2**40]), pa.float64()),
        (pa.array([0], pa.timestamp("us", "UTC")), pa.timestamp("us")),
        (pa.array([0], pa.timestamp("ns")), pa.timestamp("us")),
        (pa.array([b"\xff"]), pa.string()),
        (pa.array([{"a": 1}]), pa.struct({"a": pa.string()})),
    ],
)
def test_what_would_change_is_refused(given: pa.Array, wanted: pa.DataType) -> None:
    with pytest.raises(DataError, match="TW308: it"):
        convert(given, wanted, "it")
