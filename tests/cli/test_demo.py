"""`trendweave demo`: plan, table, chart, picture and speed, on both runners."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

#: Fewer events than a user gets; the rest is the same.
PROGRAM = "import sys, trendweave.cli.demo as d; d._LARGE = 50_000; from trendweave.cli import main; main()"


@pytest.mark.parametrize("runner", [pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.nightly]), "local"])
def test_the_tour(tmp_path: Path, runner: str) -> None:
    picture = tmp_path / "tour.html"
    options = ["--runner", runner, "--picture", str(picture)]
    command = [sys.executable, "-c", PROGRAM, "demo", *options]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert result.returncode == 0, result.stderr[-3_000:]
    shown = " ".join(result.stdout.split())
    assert "sum method" in shown
    assert "of which compiling took " in shown
    assert "s of all this, once per machine." in shown
    assert "12,340 events, 11,693,923 trends counted in " in shown
    assert "10,202,976" in shown
    assert "█" in shown
    assert "50,000 events in " in shown
    assert "events/s" in shown
    assert "And with operators" in shown
    assert "145.966" in shown
    assert "And of a stored month" in shown
    assert shown.count("times as fast") == 2
    assert str(picture) in result.stdout.replace("\n", "")
    page = ElementTree.fromstring(picture.read_text(encoding="utf-8"))
    # 14 days at three airports, and the page says which: those of the data, in the time of New York.
    assert len(list(page.iter("{http://www.w3.org/2000/svg}circle"))) == 42
    told = " ".join("".join(page.itertext()).split())
    assert "A trend is three or more departures of one airline from one airport on one day" in told
    assert "4 to 17 February 2013, days and times of New York" in told
    assert "2013-02-04 to 2013-02-17" in told
    assert len(list(page.iter("{http://www.w3.org/2000/svg}polyline"))) == 3
    assert {path.name for path in tmp_path.iterdir()} == {"tour.html"}, "files of Spark were left behind"
