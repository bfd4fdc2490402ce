"""Every test of a language feature runs in every place (`places.py`)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.features.places import PLACES, Run, skip_what_cannot_run, spark_place
from tests.features.runs import Events, Row


@pytest.fixture(params=[*PLACES, pytest.param("spark_batch", marks=[pytest.mark.spark, pytest.mark.nightly])])
def run(request: pytest.FixtureRequest) -> Run:
    """`run(query, events, **options of Query.run)` -> rows; events are a list of dictionaries or an Arrow table.

    On Spark, where a job takes half a second, they run by night.
    """
    name = request.param
    place = spark_place(request.getfixturevalue("spark")) if name == "spark_batch" else PLACES[name]

    def run_there(query: str, events: Events, **options: Any) -> list[Row]:
        skip_what_cannot_run(name, query, events, options)
        return place(query, events, **options)

    return run_there
