"""The runners that every test of a language feature runs on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import trendweave
from tests.features.runs import Events, Row, as_rows, as_table

Run = Callable[..., list[Row]]


def on_local(query: str, events: Events, **options: Any) -> list[Row]:
    table = as_table(events)
    found = trendweave.query(query).run(table, **options)
    assert isinstance(found, pa.Table)
    return as_rows(found)


#: A further runner is added here, and nowhere else.
RUNNERS: dict[str, Run] = {"local": on_local}


@pytest.fixture(params=RUNNERS)
def run(request: pytest.FixtureRequest) -> Run:
    """`run(query, events, **options of Query.run)` -> rows; events are a list of dictionaries or an Arrow table."""
    return RUNNERS[request.param]
