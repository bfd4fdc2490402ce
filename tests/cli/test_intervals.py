"""`trendweave check`, `explain` and `run` with interval queries, and the drawing of matches."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.command import trendweave

QUERY = (
    "FROM X PARTITION BY k DEFINE A AS a > 1, B AS b > 1 "
    "PATTERN A overlaps; before B WITHIN 1 minute RETURN k, SUM(A.a)"
)
EVENTS = pa.table(
    {
        "time": list(range(8)),
        "k": ["<k>"] * 8,
        "a": [0, 2, 3, 2, 0, 0, 0, 0],
        "b": [0, 0, 0, 2, 2, 0, 2, 0],
    }
)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    query, events = tmp_path / "query.tw", tmp_path / "events.parquet"
    query.write_text(QUERY, encoding="utf-8")
    pq.write_table(EVENTS, events)
    return query, events


def test_check_explain_and_run(files: tuple[Path, Path]) -> None:
    query, events = files
    assert trendweave("check", str(query), "--schema", str(events)).stdout == "ok\n"
    assert "certain at" in trendweave("explain", str(query)).stdout
    result = trendweave("run", str(query), "--events", str(events), "--runner", "local")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        '"time","A_start","A_end","B_start","B_end","k","sum_A_a"',
        '4,1,4,3,,"<k>",7',
        '6,1,4,6,,"<k>",7',
    ]


def test_show_draws_matches_as_bars(files: tuple[Path, Path], tmp_path: Path) -> None:
    query, events = files
    page = tmp_path / "matches.html"
    result = trendweave("run", str(query), "--events", str(events), "--runner", "local", "--show", str(page))
    assert (result.returncode, result.stderr) == (0, "")
    html = page.read_text(encoding="utf-8")
    # Two situations of each of two matches, and when each was certain; nothing is loaded from elsewhere.
    # A legend has two more.
    assert html.count("<rect") == 4 + 2
    assert html.count("certain at") == 2
    assert html.count('class="running"') == 2
    assert "&lt;k&gt;" in html
    assert "<k>" not in html
    assert not re.search(r"(src|href)=", html)
