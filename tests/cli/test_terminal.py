"""What a terminal shows of queries and events is what was given, whatever else it could mean to rich."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

import pyarrow as pa
import pytest

from tests.cli.command import trendweave
from trendweave import query, workload
from trendweave.cli.running import Run
from trendweave.cli.tables import print_table
from trendweave.consoles import make_console

#: Codes of emoji, markup, and backslashes before it.
TEXTS = ["10:x:20", ":smile:", "[bold]a[/bold]", "[/]", r"\[bold]", "a\\", "a\\\\", "[link=x]"]


class Terminal(io.StringIO):
    """A terminal without colours."""

    def isatty(self) -> bool:
        return True


@contextmanager
def terminal() -> Iterator[Terminal]:
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(Terminal()) as shown:
        patch.setenv("TERM", "dumb")
        patch.setenv("COLUMNS", "160")
        yield shown


def cells(shown: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("│┃").split("│")] for line in shown.splitlines() if "│" in line]


def test_cells_and_names_of_columns_stand_as_they_are() -> None:
    with terminal() as shown:
        print_table(make_console(), pa.table({"k:x:[bold]": TEXTS}))
    assert [row[0] for row in cells(shown.getvalue())] == TEXTS
    assert "┃ k:x:[bold]" in shown.getvalue()


def test_rows_of_a_query() -> None:
    counting = query("RETURN k, COUNT(*) PATTERN A a GROUP-BY k WITHIN 10 s SLIDE 10 s")
    events = pa.table({"time": list(range(len(TEXTS))), "type": ["A"] * len(TEXTS), "k": TEXTS})
    with terminal() as shown:
        Run(runner="local").write(counting, counting.run(events), events, None)
    assert sorted(row[2] for row in cells(shown.getvalue())) == sorted(TEXTS)


def test_names_of_queries() -> None:
    both = workload({"a:x:[b]": "RETURN COUNT(*) PATTERN A a", "b": "RETURN COUNT(*) PATTERN A a"})
    events = pa.table({"time": [1], "type": ["A"]})
    with terminal() as shown:
        Run(runner="local").write(both, both.run(events), events, None)
    assert "a:x:[b] ─" in shown.getvalue()


def test_errors_point_at_the_place() -> None:
    result = trendweave("check", "-q", "RETURN k :x: COUNT(*) PATTERN A a")
    assert result.returncode == 1
    said = result.stderr.splitlines()
    line = next(place for place, text in enumerate(said) if "RETURN k :x: COUNT" in text)
    assert said[line + 1].index("^") - said[line].index("RETURN") == len("RETURN k ")


def test_warnings_stand_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text("time,type,k\n1,A,x\n", encoding="utf-8")
    events = ("--events", str(tmp_path / "events.csv"), "--runner", "local")
    result = trendweave("run", "-q", "RETURN COUNT(*) PATTERN `:x:` a", *events)
    assert "❌" not in result.stderr
    assert ":x:" in result.stderr
