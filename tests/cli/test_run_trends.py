"""`trendweave run` on queries that show trends: text for people, and a page with pictures."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pytest

from tests.cli.command import trendweave
from trendweave import query
from trendweave.cli.files import write_table
from trendweave.cli.tables import write_lists_as_text
from trendweave.pictures.trends import MOST_GROUPS, MOST_TRENDS, draw_trends

#: What one trend lists, as a line of CSV.
LISTED = ',,"[3]","[""<&>"",""q""]"'
EVENTS = pa.table({"time": [1, 2, 3], "type": ["A", "A", "B"], "x": [3, None, 1], "s": ["<&>", "q", "r"]})


@pytest.fixture
def events(tmp_path: Path) -> Path:
    write_table(EVENTS, tmp_path / "events.parquet")
    return tmp_path / "events.parquet"


def run(text: str, events: Path, *options: str):
    return trendweave("run", "-", "--events", str(events), "--runner", "local", *options, text=text)


def test_trends_are_printed_readably(events: Path) -> None:
    result = run("RETURN TRENDS(x) PATTERN SEQ(A+, B)", events)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [
        '"window_start","window_end","length","events"',
        ',,2,"A 2 -> B 3 x=1"',
        ',,3,"A 1 x=3 -> A 2 -> B 3 x=1"',
        ',,2,"A 1 x=3 -> B 3 x=1"',
    ]


def test_one_row_per_trend_needs_no_text(events: Path) -> None:
    result = run("RETURN EACH FIRST(A.x) AS low, COUNT(A) PATTERN SEQ(A+, B) LONGEST 1", events)
    assert result.stdout.splitlines()[1:] == [",,3,2"]


def test_lists_of_values_are_json_in_csv(events: Path, tmp_path: Path) -> None:
    query = "RETURN EACH COLLECT_LIST(A.x) AS x, COLLECT_SET(A.s) AS s PATTERN SEQ(A+, B) LONGEST 1"
    result = run(query, events)
    assert result.stdout.splitlines()[1] == LISTED
    assert run(query, events, "--out", str(tmp_path / "lists.csv")).returncode == 0
    assert (tmp_path / "lists.csv").read_text().splitlines()[1] == LISTED


def test_files_keep_the_list_where_they_can(events: Path, tmp_path: Path) -> None:
    for ending, kept in ((".parquet", True), (".csv", False), (".json", True)):
        out = tmp_path / f"out{ending}"
        assert run("RETURN TRENDS PATTERN A+", events, "--out", str(out)).returncode == 0
        assert ("A 1 -> A 2" in out.read_text(errors="replace")) is not kept


def test_a_page_with_a_picture_per_group(events: Path, tmp_path: Path) -> None:
    page = tmp_path / "trends.html"
    result = run("RETURN TRENDS(x, s) PATTERN SEQ(A+, B)", events, "--show", str(page))
    assert result.returncode == 0, result.stderr
    text = page.read_text(encoding="utf-8")
    assert "all 3 trends" in text
    assert "http" not in text.replace("http-equiv", "")
    (picture,) = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    drawing = ElementTree.fromstring(picture)
    colours = [circle.get("fill") for circle in drawing.iter("circle") if len(circle)]
    assert len(colours) == 7
    assert len(set(colours)) == 2
    assert "A 1 x=3 s=<&>" in {title.text.split(" -> ")[0] for title in drawing.iter("title") if title.text}


@pytest.mark.parametrize(
    ("text", "ending", "shows"),
    [
        ("RETURN TRENDS(x) PATTERN SEQ(A+, B)", "svg", "<circle"),
        ("RETURN COUNT(*) PATTERN A WITHIN 1 second SLIDE 1 second", "html", "count over time"),
        ("RETURN COUNT(*) PATTERN A WITHIN 1 second SLIDE 1 second", "svg", "start of the window"),
        ("RETURN COUNT(*) PATTERN A+", "svg", "</title></rect>"),
    ],
)
def test_pictures_of_trends_and_windows(events: Path, tmp_path: Path, text: str, ending: str, shows: str) -> None:
    picture = tmp_path / f"picture.{ending}"
    assert run(text, events, "--show", str(picture)).returncode == 0
    assert shows in picture.read_text(encoding="utf-8")


def test_pictures_stay_few_and_small() -> None:
    moments = [datetime(2024, 1, 1, 0, 0, second, tzinfo=UTC) for second in range(60)]
    table = pa.table({"time": moments, "type": ["A"] * 60, "g": [i % 20 for i in range(60)]})
    result = query("RETURN TRENDS PATTERN A{1,2} GROUP-BY g").run(pa.concat_tables([table] * 8))
    page = draw_trends(result, "RETURN TRENDS ...")
    pictures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(pictures) == MOST_GROUPS
    assert f"{MOST_GROUPS} of 20 groups" in page
    assert all(picture.count('class="trend"') <= MOST_TRENDS for picture in pictures)
    assert "00:00" in pictures[0]


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("RETURN EACH A.s PATTERN A", ("--show", "a.svg"), "leave --show out"),
        ("RETURN TRENDS PATTERN A+", ("--show", "a.gif"), "name an .html, .svg or .png file"),
        ("RETURN TRENDS PATTERN A+", ("--show", "nowhere/a.html"), "in an existing folder"),
    ],
)
def test_what_cannot_be_drawn_is_told(events: Path, text: str, options: tuple[str, ...], said: str) -> None:
    result = run(text, events, *options)
    assert result.returncode == 1
    assert said in " ".join(result.stderr.split())


def test_other_tables_stay_what_they_are() -> None:
    assert write_lists_as_text(EVENTS) is EVENTS
