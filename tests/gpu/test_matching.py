"""Sequential matching on a card gives the rows of the CPU, and what it does not serve says so."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import trendweave
from tests.gpu.simulator import SimulatedCard
from trendweave.errors import ExecutionError

QUERIES = {
    "any": """
        RETURN EACH FIRST(A.time) AS begins, LAST(C.time) AS ends, COUNT(A) AS a
        PATTERN SEQ(E A, E B, E C)
        WHERE abs(A.v - B.v) <= 1 AND abs(B.v - C.v) <= 1
        WITHIN 9 seconds
    """,
    "next": """
        RETURN TRENDS
        PATTERN SEQ(E A, E B+, E C)
        WHERE abs(PREV(A).v - B.v) <= 1 AND B.v <= NEXT(B).v AND C.w > B.w AND C.w < 2
        WITHIN 12 seconds SLIDE 5 seconds
        SEMANTICS skip-till-next-match
    """,
    "texts and keys": """
        RETURN EACH LAST(B.w) AS w, COUNT(A) AS a
        PATTERN SEQ(E A+, E B)
        WHERE A.text < NEXT(A).text AND A.text != B.text AND [key]
        WITHIN 6 seconds
    """,
}


def make_events(rows: int, seed: int) -> pa.Table:
    """Ties in time, NULL, NaN, infinities and both zeros."""
    random = np.random.default_rng(seed)

    def some(values: np.ndarray) -> pa.Array:
        return pa.array(values, mask=random.random(rows) < 0.1)

    return pa.table(
        {
            "time": np.sort(random.integers(0, max(1, rows // 2), rows)),
            "v": some(random.integers(-3, 4, rows).astype(np.float32)),
            "w": some(random.choice([1.0, 2.0, -3.0, np.nan, np.inf, 0.0, -0.0], rows)),
            "text": some(random.choice(np.array(["a", "b", "c"]), rows)),
            "key": random.integers(0, 3, rows),
        }
    )


@pytest.mark.parametrize("name", QUERIES)
def test_rows_are_those_of_the_cpu(name: str, gpu: SimulatedCard) -> None:
    query = trendweave.query(QUERIES[name])
    shown = 0
    for rows, seed in [(0, 0), (1, 1), (40, 2), (90, 3), (150, 4)]:
        events = make_events(rows, seed)
        on_cpu = query.run(events, type=None, device="cpu")
        launches = gpu.launches

        on_card = query.run(events, type=None, device="gpu")

        assert repr(on_card.to_pylist()) == repr(on_cpu.to_pylist())  # in the same order; NaN is NaN
        assert rows < 40 or gpu.launches > launches
        shown += on_cpu.num_rows
    assert shown > 20


def test_long_ranges_and_many_links(gpu: SimulatedCard) -> None:
    events = pa.table({"time": np.arange(2500), "v": np.arange(2500) % 2})
    query = trendweave.query(
        "RETURN EACH FIRST(A.time) AS a, LAST(B.time) AS b PATTERN SEQ(E A, E B) "
        "WHERE A.v + B.v = 2 AND B.time % 1000 = 1"
    )

    found = query.run(events, type=None, device="gpu")

    assert found.num_rows == 500 + 1000  # odd times before 1001 and before 2001; there is none before 1


def test_more_links_than_memory_has_room_for_are_refused(gpu: SimulatedCard) -> None:
    events = pa.table({"time": np.arange(900), "v": np.zeros(900)})
    query = trendweave.query("RETURN TRENDS PATTERN SEQ(E A, E B) WHERE A.v = B.v LIMIT 1")

    with pytest.raises(ExecutionError, match=r"TW422: more than 349,525 links"):
        query.run(events, type=None, device="gpu", memory="16 MB")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("RETURN TRENDS PATTERN SEQ(E A, NOT E N, E B) WHERE A.v > B.v", "a pattern with NOT"),
        ("RETURN COMPLETE TRENDS PATTERN E A+ WHERE A.v > NEXT(A).v", "complete trends"),
        ("RETURN TRENDS PATTERN SEQ(E A, E B, E C) WHERE A.v > C.v", "no neighbours"),
        ("RETURN TRENDS PATTERN SEQ(E A, E B) WHERE A.v > B.v SEMANTICS contiguous", "next to each other"),
        ("RETURN TRENDS PATTERN SEQ(E A, E B) WHERE concat(A.text, B.text) = 'ab'", "not compiled"),
    ],
)
def test_what_is_not_served_names_the_device_that_serves_it(text: str, reason: str, gpu: SimulatedCard) -> None:
    query = trendweave.query(text)

    with pytest.raises(ExecutionError) as refused:
        query.run(make_events(30, 1), type=None, device="gpu")

    assert "TW422" in str(refused.value)
    assert reason in str(refused.value)
    assert "device='cpu'" in str(refused.value)
