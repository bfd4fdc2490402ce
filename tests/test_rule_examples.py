"""The example rules: each folder is one workload, every rule finds something, and gives what it gives alone."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest

import trendweave
from tests.documentation import run_page
from trendweave import datasets

FOLDER = Path(__file__).parent.parent / "examples" / "rules"


@cache
def events(folder: str) -> pa.Table:
    if folder == "web_clicks":
        return datasets.web_clicks(20_000, seed=1)
    riders = {"drivers": 20, "riders": 50, "districts": 6}
    return datasets.ride_sharing(20_000, seed=1, burst=20, events_per_minute=1_000, **riders)


@pytest.mark.parametrize("folder", ["ride_sharing", "web_clicks"])
def test_rules_of_a_folder(folder: str) -> None:
    rules = trendweave.workload(FOLDER / folder)
    assert len(rules) == 30
    assert all(rule.version and rule.description for rule in rules.rules)

    found = rules.run(events(folder))

    for name in rules.names:
        own = rules.rows(found, name)
        assert own.num_rows, f"rule {name} finds nothing in its sample"
        assert as_set(own) == as_set(rules[name].run(events(folder))), name


def test_code_of_their_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER.parents[1])
    run_page(FOLDER / "README.md")


def as_set(table: pa.Table) -> list[str]:
    return sorted(str(tuple(_rounded(value) for value in row.values())) for row in table.to_pylist())


def _rounded(value: object) -> object:
    return round(value, 6) if isinstance(value, float) else value
