"""The pages of the cookbook as tasks: events, queries with their results, and the code that they replace.

A page has these sections, each with one block: `Events` (CSV), `Query` (SQL) and `Result` (a table), once or several
times, told apart by a label (`Query: V`), and `What it replaces` (SQL, or Python that makes `rows` of `events`).
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv

FOLDER = Path(__file__).parents[1] / "examples" / "cookbook"
PAGES = sorted(path for path in FOLDER.glob("*.md") if path.name != "README.md")
_BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE)
_SECTION = re.compile(r"^## (?P<title>.+)\n(?P<text>(?:(?!## ).*\n?)*)", re.MULTILINE)

Rows = list[tuple[str, ...]]


@dataclass(frozen=True)
class Recipe:
    """One query and what it returns: names of columns, and rows in any order."""

    name: str
    query: str
    columns: tuple[str, ...]
    rows: Rows


@dataclass(frozen=True)
class Task:
    name: str
    title: str
    events: pa.Table
    recipes: tuple[Recipe, ...]
    replaced: str
    language: str

    @property
    def type(self) -> str | None:
        """The column of event types; None where every row is of the one type that the pattern names."""
        return "type" if "type" in self.events.column_names else None


def task_of(page: Path) -> Task:
    text = page.read_text(encoding="utf-8")
    title, problem = re.match(r"# (.+)\n\n((?:.+\n)*)", text).groups()  # type: ignore[union-attr]
    assert problem.strip(), f"{page.name} says nothing of the problem"
    sections = [(found["title"], found["text"]) for found in _SECTION.finditer(text)]
    titles = [title for title, _ in sections]
    queries = {_label(title): _block(page, title, text, "sql") for title, text in sections if _kind(title) == "Query"}
    results = {_label(title): _table(page, title, text) for title, text in sections if _kind(title) == "Result"}
    assert queries, f"{page.name} has no query"
    assert queries.keys() == results.keys(), f"{page.name} has not one result per query"
    for needed in ("Events", "What it replaces"):
        assert titles.count(needed) == 1, f"{page.name} needs one section {needed}"
    replaced = dict(sections)["What it replaces"]
    language = "python" if "```python" in replaced else "sql"
    return Task(
        page.stem,
        title,
        _read_events(_block(page, "Events", dict(sections)["Events"], "csv")),
        tuple(Recipe(" ".join((page.stem, *label)), queries[label], *results[label]) for label in queries),
        _block(page, "What it replaces", replaced, language),
        language,
    )


def _kind(title: str) -> str:
    return title.partition(":")[0]


def _label(title: str) -> tuple[str, ...]:
    return tuple(title.partition(": ")[2].split())


def _block(page: Path, title: str, text: str, language: str) -> str:
    blocks = [found["code"] for found in _BLOCK.finditer(text) if found["language"] == language]
    assert len(blocks) == 1, f"{page.name} needs one block of {language} in {title}"
    assert blocks[0].strip(), f"{page.name} has an empty block in {title}"
    return blocks[0]


def _table(page: Path, title: str, text: str) -> tuple[tuple[str, ...], Rows]:
    lines = [tuple(map(as_text, line.strip("| ").split(" | "))) for line in text.splitlines() if line.startswith("|")]
    assert len(lines) > 2, f"{page.name} has no rows in {title}"
    assert all(len(line) == len(lines[0]) for line in lines[2:]), f"{page.name} has rows of several widths in {title}"
    return lines[0], sorted(lines[2:])


def _read_events(text: str) -> pa.Table:
    """With times in UTC, as Spark and most logs have them."""
    options = csv.ConvertOptions(strings_can_be_null=True, column_types={"time": pa.timestamp("us")})
    table = csv.read_csv(io.BytesIO(text.encode()), convert_options=options)
    return table.set_column(0, "time", table["time"].cast(pa.timestamp("us", "UTC")))


# ------------------------------------------------------------------------------------------------------------ comparing


def as_rows(columns: tuple[str, ...], found: list[dict[str, Any]]) -> Rows:
    """Rows of any place as a page writes them."""
    assert all(tuple(row) == columns for row in found), f"{columns} expected, {tuple(found[0])} found"
    return sorted(tuple(map(as_text, row.values())) for row in found)


def as_text(value: Any) -> str:
    """Numbers are the same, however they are written or stored; so are times, which pages write without a zone."""
    if value is None or value != value:  # NaN and NaT, which pandas has in place of NULL
        return ""
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    try:
        return f"{float(value):.9g}"
    except (TypeError, ValueError):
        return str(value)
