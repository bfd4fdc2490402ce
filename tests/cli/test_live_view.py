"""What a running stream shows, from progress that Spark wrote: numbers, and pictures on a terminal made of text."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console

from trendweave.cli.answers import Answers
from trendweave.cli.live_view import Counts, LinesView, LiveView, MicroBatch

#: Of a stream of JSON files: ten events and a broken line; ten events, a row without a time and one without a type; a
#: late event and one that closes windows; a micro-batch without events that closes them; and a trigger without work.
RECORDED: list[dict[str, Any]] = json.loads((Path(__file__).parent / "recorded_progress.json").read_text())


def batches() -> list[MicroBatch]:
    found = [MicroBatch.read(progress) for progress in RECORDED]
    return [batch for batch in found if batch is not None]


def counts() -> Counts:
    made = Counts()
    for batch in batches():
        made.add(batch)
    return made


def test_a_micro_batch_is_read_from_its_progress() -> None:
    first, second, third, fourth = batches()
    assert (first.events, first.other_type, first.unreadable, first.late) == (10, 1, 1, 0)
    assert (second.events, second.no_time, second.no_type) == (12, 1, 1)
    assert (third.events, third.late) == (2, 1)
    assert (fourth.events, fourth.rows) == (0, 1)
    assert first.watermark is None
    assert second.watermark == datetime(2024, 1, 1, 0, 0, 7, tzinfo=UTC)
    assert min(first.seconds, first.per_second, first.state_rows, first.state_on_disk, first.state_in_memory) > 0


def test_a_trigger_without_work_is_no_micro_batch() -> None:
    assert MicroBatch.read(RECORDED[-1]) is None


def test_rates_that_are_no_numbers() -> None:
    """What Spark writes for nothing in no time."""
    for rate in ("NaN", None):
        batch = MicroBatch.read({**RECORDED[0], "processedRowsPerSecond": rate})
        assert batch is not None
        assert batch.per_second == 0


def test_counts_are_sums_since_the_start() -> None:
    made = counts()
    assert (made.batches, made.events, made.rows, made.late) == (4, 24, 2, 1)
    told = dict(made.describe(time_is_number=False))
    assert told["events"].startswith("24 read, ")
    assert told["late"] == "1 dropped"
    assert told["watermark"] == "2024-01-01 00:00:28"
    assert told["dropped"] == ("1 rows without a time, 1 without a type, 1 that cannot be read, 1 of other types")
    assert told["batches"].startswith("4, last ")
    assert dict(made.describe(time_is_number=True))["watermark"] == "1,704,067,228"


def test_nothing_yet() -> None:
    told = dict(Counts().describe(time_is_number=False))
    assert told["watermark"] == "none yet"
    assert "state" not in told


def test_lines_for_programs() -> None:
    out, errors = io.StringIO(), io.StringIO()
    view = LinesView(out, Console(file=errors, width=40), Answers({"": ("window_start", "k")}), time_is_number=False)
    view.show_rows(pa.table({"window_start": [datetime(2024, 1, 1, tzinfo=UTC)], "k": ["[x]"], "count": [2**60]}))
    for batch in batches():
        view.show_progress(batch)
    view.close()
    assert out.getvalue() == '{"window_start": "2024-01-01 00:00:00+00:00", "k": "[x]", "count": 1152921504606846976}\n'
    assert "dropped: 1 rows without a time, 1 without a type, 1 that cannot be read" in errors.getvalue()


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=100, height=20, color_system=None)


def lines(view: LiveView) -> list[str]:
    """On another console, as the view's own also gets the codes that move its cursor."""
    text = io.StringIO()
    Console(file=text, width=100, color_system=None).print(view.draw())
    return text.getvalue().splitlines()


def test_the_live_view_shows_counts_and_the_latest_rows(console: Console) -> None:
    view = LiveView(console, "events to [console]", Answers({"": ("window_start", "k")}), time_is_number=True)
    assert "events to [console]: starting, 0:00; Ctrl-C stops" in lines(view)[0]
    view.show_rows(pa.table({"window_start": range(50), "k": ["[bold]"] * 50, "count": range(50)}))
    view.show_progress(batches()[0])
    shown = lines(view)
    assert shown[0].startswith("events to [console]: running")
    assert any(line.startswith("events ") and "10 read" in line for line in shown)
    numbers = [int(line.split("│")[1]) for line in shown if line.startswith("│")]
    assert numbers == list(range(42, 50)), "as many as there is room for"
    assert "[bold]" in "\n".join(shown)
    assert len(shown) <= 20
    view.announce_stop()
    assert "stopping" in lines(view)[0]
    view.close()
    assert lines(view)[0].startswith("events to [console]: stopped")


def test_an_early_row_gives_way_to_the_next_of_its_window(console: Console) -> None:
    view = LiveView(console, "early", Answers({"": ("window_start",)}), time_is_number=True)
    view.show_rows(pa.table({"window_start": [0, 10], "count": [1, 2]}))
    view.show_rows(pa.table({"window_start": [0], "count": [7]}))
    rows = [line.split("│")[1:3] for line in lines(view) if line.startswith("│")]
    view.close()
    assert [[cell.strip() for cell in row] for row in rows] == [["10", "2"], ["0", "7"]]
