"""Writes the state of every kind of query, in the middle of its events: `python -m tests.runners.save_states FOLDER`.

Run it when the format of states changes, into a new folder of `saved_states`, such as v4 for the fourth format; the
folders of earlier formats stay.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

import trendweave

SCHEMA = pa.schema(
    {"time": pa.int64(), "type": pa.string(), "k": pa.string(), "x": pa.int64(), "y": pa.int64()}
)  # fmt: skip
SAVED = Path(__file__).parent / "saved_states"


@dataclass(frozen=True)
class Case:
    """Events are (time, type, x, y), all of them with the key u. `rows` is what is still to come after the state."""

    text: str
    before: tuple[tuple[int, str, int, int], ...]
    watermark: int
    after: tuple[tuple[int, str, int, int], ...]
    rows: tuple[dict[str, Any], ...]


_READINGS = ((1, "R", 5, 0), (2, "R", 6, 0))
_MORE_READINGS = ((3, "R", 0, 0), (4, "R", 0, 1), (5, "R", 0, 1))
_A_BEFORE_B = "FROM R PARTITION BY k DEFINE A AS x > 0, B AS y > 0 PATTERN A before B"

CASES = {
    "sliding": Case(
        "RETURN k, COUNT(*), SUM(A.x) PATTERN A+ WHERE [k] GROUP-BY k WITHIN 10 seconds SLIDE 5 seconds",
        ((1, "A", 1, 0), (6, "A", 2, 0)),
        7,
        ((8, "A", 4, 0),),
        (
            {"window_start": 0, "window_end": 10, "k": "u", "count": 7, "sum_A_x": 28},
            {"window_start": 5, "window_end": 15, "k": "u", "count": 3, "sum_A_x": 12},
        ),
    ),
    "moving": Case(
        "RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 5 seconds",
        ((1, "A", 0, 0), (3, "A", 0, 0)),
        4,
        ((5, "B", 0, 0), (7, "B", 0, 0)),
        ({"time": 5, "count": 2}, {"time": 7, "count": 2}),  # a3 b5 and a3 b7
    ),
    "trends": Case(
        "RETURN EACH COUNT(A), LAST(B.x) AS last PATTERN SEQ(A+, B) WITHIN 10 seconds SLIDE 10 seconds",
        ((1, "A", 0, 0), (2, "A", 0, 0)),
        3,
        ((4, "B", 9, 0),),
        tuple({"window_start": 0, "window_end": 10, "count_A": number, "last": 9} for number in (1, 1, 2)),
    ),
    "matches": Case(
        f"{_A_BEFORE_B} WITHIN 20 seconds RETURN k, SUM(A.x) AS total",
        _READINGS,
        3,
        _MORE_READINGS,
        ({"time": 4, "A_start": 1, "A_end": 3, "B_start": 4, "B_end": None, "k": "u", "total": 11},),
    ),
    "counts": Case(
        f"{_A_BEFORE_B} WITHIN 10 seconds EVERY 10 seconds RETURN COUNT(*)",
        _READINGS,
        3,
        _MORE_READINGS,
        ({"window_start": 0, "window_end": 10, "count": 1},),
    ),
    "situations": Case(
        "FROM R PARTITION BY k DEFINE A AS x > 0 RETURN SITUATIONS",
        _READINGS,
        3,
        _MORE_READINGS,
        ({"k": "u", "name": "A", "start": 1, "end": 3},),
    ),
    "during": Case(
        "RETURN COUNT(*) PATTERN R FROM R DEFINE Fast AS x > 0 AT LEAST 2 seconds WHERE [k] AND R DURING Fast "
        "WITHIN 4 seconds SLIDE 4 seconds",
        ((2, "R", 1, 0), (3, "R", 1, 0)),
        8,
        ((9, "R", 1, 0), (10, "R", 0, 0)),
        ({"window_start": 8, "window_end": 12, "count": 1},),
    ),
}


def table_of(events: tuple[tuple[int, str, int, int], ...]) -> pa.Table:
    rows = [{"time": time, "type": type_, "k": "u", "x": x, "y": y} for time, type_, x, y in events]
    return pa.Table.from_pylist(rows, SCHEMA)


def save(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, case in CASES.items():
        engine = trendweave.query(case.text).incremental(SCHEMA)
        state, _ = engine.push(engine.start(), table_of(case.before), case.watermark)
        (folder / f"{name}.state").write_bytes(state.to_bytes())


if __name__ == "__main__":
    save(SAVED / sys.argv[1])
