"""The tasks of the cookbook that replace SQL: what Flink is asked, and its rows next to those of the page."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

from tools.cookbook_pages import PAGES, Rows, Task, as_rows, task_of

KINDS = {pa.int64(): "BIGINT", pa.float64(): "DOUBLE", pa.string(): "STRING"}


def sql_tasks() -> list[Task]:
    return [task for task in map(task_of, PAGES) if task.language == "sql"]


def case_line(task: Task, place: Path) -> str:
    """A table of the task's events, and the SQL of its page; the events are written to a file."""
    file = place / f"{task.name}.csv"
    events = task.events.set_column(0, "time", task.events["time"].cast(pa.timestamp("s")))
    csv.write_csv(events, file, csv.WriteOptions(include_header=False, quoting_style="none"))
    name = re.search(r"FROM (\w+) MATCH_RECOGNIZE", task.replaced)[1]  # type: ignore[index]
    columns = ["`time` TIMESTAMP(3)"]
    columns += [f"`{field.name}` {KINDS[field.type]}" for field in task.events.schema if field.name != "time"]
    # To Flink an event at the watermark is late, and events of one time are not to be.
    columns.append("WATERMARK FOR `time` AS `time` - INTERVAL '1' SECOND")
    options = f"'connector' = 'filesystem', 'format' = 'csv', 'path' = '{file}'"
    table = f"CREATE TEMPORARY TABLE {name} ({', '.join(columns)}) WITH ({options})"
    return f"{task.name}\t{table}\t{' '.join(task.replaced.split())}\n"


def rows_of(task: Task, lines: list[str]) -> Rows:
    """Flink's rows, with their columns in the order of the page."""
    fields = [line.split("\t")[1:] for line in lines if line.startswith(f"{task.name}\t")]
    columns = task.recipes[0].columns
    return as_rows(columns, [{name: _value(row[fields[0].index(name)]) for name in columns} for row in fields[1:]])


def _value(written: str) -> object:
    """Flink leaves out the seconds of a time that has none."""
    return datetime.fromisoformat(written) if re.match(r"\d{4}-\d\d-\d\dT", written) else written


def report(lines: list[str]) -> int:
    print(f"\n{'tasks of the cookbook':<50}{'rows':>8}")
    wrong = 0
    for task in sql_tasks():
        found = rows_of(task, lines)
        alike = found == task.recipes[0].rows
        wrong += not alike
        print(f"{task.name:<50}{len(found):>8}{'' if alike else '  <- not those of the page'}")
    return min(wrong, 1)
