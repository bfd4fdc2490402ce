"""Folders and files of rules on the command line: checked, explained, run, and shown while they run."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pytest
from rich.console import Console
from typer import BadParameter

from tests.cli.command import trendweave
from tests.cli.test_live_view import RECORDED, lines
from trendweave import Query, Workload, query, workload
from trendweave.cli import running
from trendweave.cli.answers import Answers, describe_answers
from trendweave.cli.failure import Failure
from trendweave.cli.files import read_table, write_table
from trendweave.cli.live_view import ROWS, LinesView, LiveView, MicroBatch
from trendweave.cli.options import choose_type_column
from trendweave.cli.running import Run
from trendweave.errors import DataError, LanguageError

EVENTS = pa.table({"t": [1, 2, 3, 11], "kind": ["A", "A", "B", "A"], "x": [3, 2, 1, 0]})
COLUMNS = ("--time", "t", "--type", "kind")
RULES = {
    "count": "RETURN COUNT(*) PATTERN SEQ(A+, B) WITHIN 10 s SLIDE 10 s",
    "deep/trends": "RETURN TRENDS(A.x) PATTERN SEQ(A, B) WITHIN 10 s SLIDE 10 s",
    "situations": "DEFINE X AS x > 1 RETURN SITUATIONS",
}


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    for name, text in RULES.items():
        path = tmp_path / "rules" / f"{name}.tw"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    write_table(EVENTS, tmp_path / "events.parquet")
    return tmp_path / "rules"


def run(rules: Path, out: str = "-", sharing: Literal["always"] | None = None) -> None:
    events = [str(rules.parent / "events.parquet")]
    given = {"time": "t", "type": "kind", "numbers": "int64", "runner": "local"}
    Run(file=str(rules), events=events, out=out, sharing=sharing, **given).run()  # type: ignore[arg-type]


def load(path: Path, sharing: Literal["auto", "always"] | None = None) -> Query | Workload:
    return Run(file=str(path), sharing=sharing).load()


def alone(name: str) -> pa.Table:
    """What the query alone gives; one over intervals that names no type takes all rows."""
    return query(RULES[name]).run(EVENTS, "t", None if name == "situations" else "kind", numbers="int64")


def test_the_commands_take_folders(rules: Path, tmp_path: Path) -> None:
    events = str(tmp_path / "events.parquet")
    result = trendweave("check", str(rules), "--schema", events, *COLUMNS)
    assert (result.returncode, result.stdout, result.stderr) == (0, "ok\n", "")
    result = trendweave("explain", str(rules), "--format", "json")
    assert [query["name"] for query in json.loads(result.stdout)["queries"]] == sorted(RULES)
    out = tmp_path / "found"
    chosen = ("--numbers", "int64", "--sharing", "never", "--out", f"{out}/")
    result = trendweave("run", str(rules), "--events", events, "--runner", "local", *COLUMNS, *chosen)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert sorted(path.relative_to(out).as_posix() for path in out.rglob("*.*")) == [
        f"{name}.parquet" for name in sorted(RULES)
    ]
    for name in RULES:
        assert read_table(out / f"{name}.parquet").to_pylist() == alone(name).to_pylist()


def test_what_is_wrong_is_told_with_the_query(rules: Path, tmp_path: Path) -> None:
    (rules / "bad.tw").write_text("RETURN COUNT(*)\nPATTERN A+ WHERE Z.x > 1", encoding="utf-8")
    result = trendweave("check", str(rules))
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        "planning error\nTW201: unknown variable Z (query bad, line 2, column 18)\n"
        "    PATTERN A+ WHERE Z.x > 1\n                     ^^^\n  hint: the pattern has A\n"
    )
    (rules / "typo.tw").write_text("RETURN COUNT(*) PATERN A+", encoding="utf-8")
    (rules / "bad.tw").write_text("RETURN SUM(A.nowhere) PATTERN A+", encoding="utf-8")
    events = str(tmp_path / "events.parquet")
    for command in (("check", "--schema", events), ("run", "--runner", "local", "--events", events)):
        result = trendweave(*command, str(rules), *COLUMNS)
        assert result.returncode == 1
        told = re.findall(r"^(TW\d+: .*) \(query (\w+),", result.stderr, re.MULTILINE)
        assert told == [("TW101: did not expect PATERN here", "typo"), ("TW301: unknown column nowhere", "bad")]
    (rules / "typo.tw").write_text("RETURN COUNT(*) PATERN A+ WHERE A.x > $most", encoding="utf-8")
    (rules / "least.tw").write_text("RETURN COUNT(*) PATTERN A+ WHERE A.x > $least", encoding="utf-8")
    given = ("--param", "most=3", "--param", "least=2")
    result = trendweave("check", str(rules), "--schema", events, *COLUMNS, *given)
    told = re.findall(r"^(TW\d+): .* \(query (\w+),", result.stderr, re.MULTILINE)
    assert told == [("TW101", "typo"), ("TW301", "bad")]
    result = trendweave("run", str(tmp_path / "none.json"), "--events", "x.csv", "--runner", "local")
    assert result.returncode == 2
    (tmp_path / "query.tw").write_text(RULES["count"], encoding="utf-8")
    result = trendweave("run", str(tmp_path / "query.tw"), "--events", "x.csv", "--sharing", "auto")
    assert result.returncode == 2
    assert "has no meaning with one query" in " ".join(result.stderr.split())


def test_rows_have_the_versions_of_their_rules(rules: Path, tmp_path: Path) -> None:
    (rules / "count.tw").write_text(f"-- version: 7\n-- description: all, counted\n{RULES['count']}", encoding="utf-8")
    events = ("--events", str(tmp_path / "events.parquet"), "--runner", "local", *COLUMNS)
    columns = ("--rule-columns", "version", "--rule-columns", "description")
    result = trendweave("run", str(rules), *events, *columns, "--out", str(tmp_path / "rows.parquet"))
    assert (result.returncode, result.stderr) == (0, "")
    rows = read_table(tmp_path / "rows.parquet").to_pylist()
    told = {(row["query"], row["version"], row["description"]) for row in rows}
    assert told == {
        (name, "7" if name == "count" else None, "all, counted" if name == "count" else None) for name in RULES
    }
    result = trendweave("run", str(rules / "count.tw"), *events, *columns)
    assert result.returncode == 2
    assert "has no meaning with one query" in " ".join(result.stderr.split())


def test_files_of_rules_and_files_with_one_query(rules: Path, tmp_path: Path) -> None:
    (tmp_path / "rules.json").write_text(json.dumps(RULES), encoding="utf-8")
    (tmp_path / "rules.yaml").write_text(json.dumps(RULES), encoding="utf-8")
    for name in ("rules.json", "rules.yaml"):
        made = load(tmp_path / name)
        assert isinstance(made, Workload)
        assert made.names == tuple(RULES)
    assert isinstance(load(rules / "count.tw"), Query)
    with pytest.raises(LanguageError, match=r"holds no \.tw files"):
        load(make_empty(tmp_path))
    with pytest.raises(BadParameter):
        load(tmp_path / "none.yaml")


def make_empty(folder: Path) -> Path:
    (folder / "empty").mkdir()
    return folder / "empty"


def test_sharing_is_for_many(rules: Path) -> None:
    assert isinstance(load(rules, "always"), Workload)
    assert isinstance(load(rules / "count.tw"), Query)
    with pytest.raises(BadParameter, match="has no meaning with one query"):
        load(rules / "count.tw", "auto")


@pytest.mark.parametrize(
    ("folder", "ending"), [("out", ".parquet"), ("out.csv/", ".csv"), ("out.json/", ".json"), ("out.arrow/", ".arrow")]
)
def test_a_file_per_query_of_every_kind(rules: Path, tmp_path: Path, folder: str, ending: str) -> None:
    run(rules, f"{tmp_path}/{folder}")
    found = read_table(tmp_path / folder / f"count{ending}")
    assert [list(row.values()) for row in found.to_pylist()] == [[0, 10, 3]]
    assert (tmp_path / folder / "deep" / f"trends{ending}").is_file()
    with pytest.raises(DataError, match="it is there already"):
        run(rules, f"{tmp_path}/{folder}")


def test_one_file_for_all(rules: Path, tmp_path: Path) -> None:
    run(rules, f"{tmp_path}/all.parquet", "always")
    found = read_table(tmp_path / "all.parquet")
    assert found.column_names[0] == "query"
    asked = load(rules)
    assert isinstance(asked, Workload)
    for name in RULES:
        assert asked.rows(found, name, "t", "kind").to_pylist() == alone(name).to_pylist()


def test_a_pipe_gets_one_csv_for_all(rules: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run(rules)
    head, *rows = capfd.readouterr().out.splitlines()
    assert head.startswith('"query","window_start","window_end","count","length","events","name","start","end"')
    assert rows[0].startswith('"count",0,10,3,')
    assert any(row.startswith('"deep/trends",0,10,') and "A 1 x=3 -> B 3" in row for row in rows)


def test_a_terminal_gets_a_table_per_query(rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr(running, "make_console", lambda: Console(file=shown, width=80, color_system=None))
    run(rules)
    text = shown.getvalue()
    assert [name for name in sorted(RULES) if f"{name} ─" in text] == sorted(RULES)
    assert text.count("window_start") == 2


def test_pictures_are_of_one_query(rules: Path, tmp_path: Path) -> None:
    with pytest.raises(Failure, match="--show draws the result of one query"):
        Run(
            file=str(rules), events=[str(tmp_path / "events.parquet")], runner="local", show=tmp_path / "page.html"
        ).run()


def test_the_type_column_of_many() -> None:
    intervals = workload({"a": "FROM E DEFINE X AS x > 1 RETURN SITUATIONS"})
    assert choose_type_column(intervals, "type", ["time", "x"]) is None
    assert choose_type_column(intervals, "type", ["time", "type", "x"]) == "type"
    assert choose_type_column(intervals.with_query("b", RULES["count"]), "type", ["time", "x"]) == "type"
    assert choose_type_column(intervals, "kind", ["time"]) == "kind"


# While a stream runs

ANSWERS = Answers({"few": ("start",), "[many]": ("start",)}, {"few": ("start", "n"), "[many]": ("start", "m")})
ROWS_OF_BOTH = pa.table(
    {"query": ["few", "[many]", "[many]"], "start": [0, 10, 0], "n": [5, None, None], "m": [None, 7, 8]}
)


def batch(few: int, many: int) -> MicroBatch:
    progress = json.loads(json.dumps(RECORDED[0]))
    progress.setdefault("observedMetrics", {})[ROWS] = {"rows": few + many, "rows_0": few, "rows_1": many}
    progress["durationMs"]["triggerExecution"] = 2_000
    found = MicroBatch.read(progress)
    assert found is not None
    return found


def test_rows_and_rates_per_query_are_lines_for_programs() -> None:
    out, errors = io.StringIO(), io.StringIO()
    view = LinesView(out, Console(file=errors, width=40), ANSWERS, time_is_number=True)
    view.show_rows(ANSWERS.sort(ROWS_OF_BOTH))
    view.show_progress(batch(1, 2))
    view.show_progress(batch(0, 1_000))
    view.close()
    assert out.getvalue().splitlines() == [
        '{"query": "few", "start": 0, "n": 5}',
        '{"query": "[many]", "start": 0, "m": 8}',
        '{"query": "[many]", "start": 10, "m": 7}',
    ]
    assert "query [many]: 1,002 rows, 250.5 per second\nquery few: 1 rows, 0.25 per second\n" in errors.getvalue()


def test_the_live_view_shows_rows_and_rates_per_query() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100, height=30, color_system=None)
    view = LiveView(console, "events to console", ANSWERS, time_is_number=True)
    view.show_rows(ROWS_OF_BOTH)
    view.show_rows(pa.table({"query": ["few"], "start": [0], "n": [6], "m": pa.nulls(1, pa.int64())}))
    view.show_progress(batch(2, 2_000))
    shown = lines(view)
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in shown if line.startswith("│")]
    view.close()
    assert cells == [
        ["[many]", "2,000", "1,000.0"],
        ["few", "2", "1"],
        ["[many]", "start 10, m 7"],
        ["[many]", "start 0, m 8"],
        ["few", "start 0, n 6"],
    ]
    assert len(shown) <= 30


def test_the_live_view_of_hundreds_of_queries_fits_a_terminal() -> None:
    names = [f"rule {number}" for number in range(90)]
    answers = Answers(dict.fromkeys(names, ("start",)), dict.fromkeys(names, ("start", "n")))
    console = Console(file=io.StringIO(), force_terminal=True, width=100, height=30, color_system=None)
    view = LiveView(console, "events to console", answers, time_is_number=True)
    view.show_rows(pa.table({"query": names, "start": range(90), "n": range(90)}))
    progress = json.loads(json.dumps(RECORDED[0]))
    progress.setdefault("observedMetrics", {})[ROWS] = {"rows": 90} | {f"rows_{number}": 1 for number in range(90)}
    found = MicroBatch.read(progress)
    assert found is not None
    view.show_progress(found)
    shown = lines(view)
    view.close()
    assert len(shown) <= 30
    assert any("more queries" in line for line in shown)


def test_what_tells_rows_apart_is_known_from_a_result() -> None:
    made = query(RULES["count"])
    assert describe_answers(made, made.run(EVENTS, "t", "kind"), "t", "kind").names == ()
    many = workload(RULES)
    answers = describe_answers(many, many.run(EVENTS, "t", "kind"), "t", "kind")
    assert answers.keys == {
        "count": ("window_start", "window_end"),
        "deep/trends": ("window_start", "window_end"),
        "situations": ("name", "start", "end"),
    }
