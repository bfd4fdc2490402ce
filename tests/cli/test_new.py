"""`trendweave new`: a project that works as it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import trendweave


def test_its_query_runs_and_its_test_passes(tmp_path: Path) -> None:
    project = tmp_path / "deep" / "prices"
    result = trendweave("new", str(project))
    assert (result.returncode, result.stderr) == (0, "")
    assert (project / "README.md").read_text(encoding="utf-8").startswith("# prices\n")
    command = [sys.executable, "-m", "unittest", "-v"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "Ran 1 test" in done.stderr


def test_its_test_can_fail(tmp_path: Path) -> None:
    project = tmp_path / "prices"
    trendweave("new", str(project))
    events = (project / "stock.csv").read_text(encoding="utf-8")
    (project / "stock.csv").write_text(events.replace("96.0", "94.0"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "unittest"], cwd=project, capture_output=True, timeout=120, check=False
    )
    assert done.returncode == 1


@pytest.mark.parametrize("taken", ["folder", "file"])
def test_nothing_is_overwritten(tmp_path: Path, taken: str) -> None:
    place = tmp_path / "prices"
    if taken == "folder":
        place.mkdir()
        (place / "mine.txt").write_text("mine", encoding="utf-8")
    else:
        place.write_text("mine", encoding="utf-8")
    result = trendweave("new", str(place))
    assert result.returncode == 1
    assert result.stderr.endswith("exists already and is not empty\n  hint: choose another name\n")
