"""Every test of a language feature runs in every place (`places.py`)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.features.places import PLACES, Run, skip_what_cannot_run, spark_place
from tests.features.runs import Events, Row

#: Of so many cases of a file in a place, the first runs by day.
_BY_DAY = {"spark_batch": 40, "threads": 4}
_NO_PARAMETERS = SimpleNamespace(params={})


@pytest.fixture(params=[*PLACES, pytest.param("spark_batch", marks=pytest.mark.spark)])
def run(request: pytest.FixtureRequest) -> Run:
    """`run(query, events, **options of Query.run)` -> rows; events are a list of dictionaries or an Arrow table."""
    name = request.param
    place = spark_place(request.getfixturevalue("spark")) if name == "spark_batch" else PLACES[name]

    def run_there(query: str, events: Events, **options: Any) -> list[Row]:
        skip_what_cannot_run(name, query, events, options)
        return place(query, events, **options)

    return run_there


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A Spark job takes half a second, and threads do what one core does: of the cases there some of every file run by
    day, and all by night."""
    seen: Counter[tuple[Path, str]] = Counter()
    for item in items:
        values = getattr(item, "callspec", _NO_PARAMETERS).params.values()
        for place, by_day in _BY_DAY.items():
            if not any(isinstance(value, str) and value == place for value in values):
                continue
            if seen[item.path, place] % by_day:
                item.add_marker(pytest.mark.nightly)
            seen[item.path, place] += 1
