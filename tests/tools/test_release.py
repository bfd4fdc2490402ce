"""What is missing from a release, or should not be in it, is told by name."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from tools.release.contents import ROOT, compare_sources, compare_wheel, list_tracked

TRACKED = [
    ".ci/run",
    "README.md",
    "src/trendweave/__init__.py",
    "src/trendweave/language/grammar.lark",
    "tests/test_x.py",
]
NOTES = ["trendweave-1.dist-info/METADATA", "trendweave-1.dist-info/licenses/LICENSE"]
NOTES += ["trendweave-1.dist-info/entry_points.txt"]


def make_wheel(folder: Path, names: list[str]) -> Path:
    path = folder / "trendweave-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "")
    return path


def make_sources(folder: Path, names: list[str]) -> Path:
    path = folder / "trendweave-1.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(f"trendweave-1/{name}"), io.BytesIO())
    return path


def test_a_wheel_has_the_package_and_nothing_else(tmp_path: Path) -> None:
    package = ["trendweave/__init__.py", "trendweave/language/grammar.lark"]
    assert compare_wheel(make_wheel(tmp_path, [*package, *NOTES]), TRACKED) == []
    wrong = make_wheel(tmp_path, [package[0], "tests/test_x.py", *NOTES[:2]])
    assert compare_wheel(wrong, TRACKED) == [
        "trendweave/language/grammar.lark is missing",
        "tests/test_x.py should not be there",
        "entry_points.txt is missing",
    ]


def test_sources_have_all_that_is_tracked(tmp_path: Path) -> None:
    assert compare_sources(make_sources(tmp_path, ["PKG-INFO", *TRACKED[1:]]), TRACKED) == []
    wrong = make_sources(tmp_path, ["PKG-INFO", *TRACKED[2:], "trendweave-demo.html"])
    assert compare_sources(wrong, TRACKED) == ["README.md is missing", "trendweave-demo.html should not be there"]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a clone, so nothing is tracked")
def test_the_repository_tracks_what_a_release_needs() -> None:
    tracked = set(list_tracked())
    needed = {"README.md", "LICENSE", "src/trendweave/py.typed", "src/trendweave/language/grammar.lark"}
    assert needed <= tracked
    assert not [name for name in tracked if name.endswith((".nbi", ".nbc", ".pyc"))]
