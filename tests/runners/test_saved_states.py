"""States that were written by earlier code: they go on to the right rows, or an error says why they cannot."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest

import trendweave
from tests.runners.save_states import CASES, SAVED, SCHEMA, table_of
from trendweave.errors import DataError


def go_on(name: str, state: bytes) -> list[dict[str, Any]]:
    case = CASES[name]
    engine = trendweave.query(case.text).incremental(SCHEMA)
    later, found = engine.push(engine.read(state), table_of(case.after))
    assert found.num_rows == 0
    rows = engine.finish(later).to_pylist()
    return [{key: int(v) if isinstance(v, Decimal) else v for key, v in row.items()} for row in rows]


def in_any_order(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(map(repr, rows))


@pytest.mark.parametrize("name", CASES)
def test_a_state_of_now_goes_on(name: str) -> None:
    case = CASES[name]
    engine = trendweave.query(case.text).incremental(SCHEMA)
    state, _ = engine.push(engine.start(), table_of(case.before), case.watermark)
    assert in_any_order(go_on(name, state.to_bytes())) == in_any_order(list(case.rows))


FORMATS = sorted((folder.name for folder in SAVED.iterdir()), key=lambda name: int(name.removeprefix("v")))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("format_", FORMATS)
def test_a_saved_state_goes_on_or_says_why_not(format_: str, name: str) -> None:
    """States of the newest format go on; those of earlier ones do, or the error names both versions."""
    state, expected = (SAVED / format_ / f"{name}.state").read_bytes(), in_any_order(list(CASES[name].rows))
    if format_ == FORMATS[-1]:
        assert in_any_order(go_on(name, state)) == expected
        return
    try:
        found = in_any_order(go_on(name, state))
    except DataError as error:
        (problem,) = error.problems
        assert problem.code == "TW311"
        assert re.search(r"version \d+, this release reads version \d+", problem.message)
        assert problem.hint
    else:
        assert found == expected


@pytest.mark.parametrize("name", CASES)
def test_a_state_of_the_release_that_kept_all_events_goes_on(name: str) -> None:
    state = (SAVED / "v2" / f"{name}.state").read_bytes()
    assert in_any_order(go_on(name, state)) == in_any_order(list(CASES[name].rows))


def test_every_kind_of_query_is_saved() -> None:
    for format_ in FORMATS:
        assert sorted(path.stem for path in (SAVED / format_).iterdir()) == sorted(CASES)
