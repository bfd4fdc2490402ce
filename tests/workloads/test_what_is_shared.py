"""Sharing really happens, and the papers' examples come out of the engine: metrics of runs beside rows."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pytest
from hypothesis import given

import trendweave
from tests.profiles import examples
from tests.reference.workloads.chop_connect import ChopConnect, PrefixSharing
from tests.reference.workloads.members import Member
from tests.reference.workloads.strategies import KLEENE, workloads_and_streams
from tests.reference.workloads.test_chop_connect import CASES, EXAMPLE_6, FIRST_FOUR
from tests.reference.workloads.test_hamlet import STREAM
from tests.runners.reference_tables import rows_of, table_of
from tests.workloads.judging import SHARINGS, planned
from trendweave.rows import encoded as encoded

pytestmark = pytest.mark.usefixtures("small_units")

#: n grows by two only from b4 to b5.
LETTERS = pa.table(
    {
        "time": [event.time for event in STREAM],
        "type": [event.type for event in STREAM],
        "n": [{"b4": 1, "b5": 3}.get(event.name, 0) for event in STREAM],
    }
)


def counts(queries: Mapping[str, str], sharing: str) -> tuple[dict[str, int], trendweave.SharingMetrics]:
    metrics = trendweave.Metrics()
    found = rows_of(trendweave.workload(queries).run(LETTERS, sharing=sharing, metrics=metrics))
    return {row["query"]: row["count"] for row in found}, metrics.sharing


@pytest.mark.parametrize("sharing", SHARINGS)
def test_hamlet_tables_3_and_4(sharing: str) -> None:
    """Graphlets B3 and B6 are two bursts, with the snapshots x and y."""
    queries = {"q1": "RETURN COUNT(*) PATTERN SEQ(A, B+)", "q2": "RETURN COUNT(*) PATTERN SEQ(C, B+)"}
    found, shared = counts(queries, sharing)
    assert found == {"q1": 132, "q2": 72}
    assert shared.queries == 2
    assert shared.bursts_shared + shared.bursts_alone == 2
    if sharing != "auto":
        assert shared.bursts_shared == (2 if sharing == "always" else 0)
        assert shared.snapshots == (2 if sharing == "always" else 0)


@pytest.mark.parametrize("sharing", SHARINGS)
def test_hamlet_table_5(sharing: str) -> None:
    """The edge from b4 to b5 fails for q2 alone."""
    queries = {
        "q1": "RETURN COUNT(*) PATTERN SEQ(A a, B b+)",
        "q2": "RETURN COUNT(*) PATTERN SEQ(C c, B b+) WHERE b.n - NEXT(b).n != -2",
    }
    assert counts(queries, sharing)[0] == {"q1": 132, "q2": 56}


@pytest.mark.parametrize("sharing", SHARINGS)
def test_purchases_of_a_seq(sharing: str) -> None:
    """Examples 6 and 7: five queries with common prefixes and a common stretch, at each time at which a match ends."""
    kinds = ["ViPad", "VKindle", "VKindleFire", "VKindle", "BKindle", "VCase", "BCase", "VKindleFire", "VLight"]
    kinds += ["BLight", "VeBook", "BKindle", "BeBook", "VCase", "VCase", "BCase", "VeBook", "BeBook"]
    stream = [(kind, time) for time, kind in enumerate(kinds)]
    rules = trendweave.workload(
        {
            name: f"RETURN COUNT(*) PATTERN SEQ({', '.join(pattern)}) WITHIN 12 seconds"
            for name, pattern in EXAMPLE_6.items()
        }
    )
    table = pa.table({"time": [time for _, time in stream], "type": kinds})
    found = rows_of(rules.run(table, sharing=sharing))
    answers = PrefixSharing(FIRST_FOUR, 12).run(stream)
    answers |= ChopConnect({"Q5": (EXAMPLE_6["Q5"][:2], CASES[:2])}, 12).run(stream)
    for name in EXAMPLE_6:
        mine = {row["time"]: row["count"] for row in found if row["query"] == name}
        assert mine, name
        assert mine.items() <= dict(answers[name]).items(), name


def test_random_workloads_share() -> None:
    """Of many random workloads some share bursts; with "never" none does."""
    total = dict.fromkeys(SHARINGS, 0)

    @given(workloads_and_streams(KLEENE, max_events=20))
    @examples(15)
    def check(drawn: tuple[tuple[Member, ...], list[dict]]) -> None:
        case = planned(drawn[0])
        for sharing in SHARINGS:
            metrics = trendweave.Metrics()
            case.workload.run(table_of(drawn[1]), sharing=sharing, metrics=metrics)
            total[sharing] += metrics.sharing.bursts_shared

    check()
    assert total["always"] > 0
    assert total["never"] == 0


def test_rules_that_differ_in_constants() -> None:
    """Rows are copied into the four rules that b passes; a, which passes all, at most into all ten."""
    rules = trendweave.workload(
        {f"from_{low}": f"RETURN TRENDS(x) PATTERN SEQ(A a, B b+) WHERE b.x >= {low}" for low in range(10)}
    )
    events = table_of([{"time": 0, "type": "A", "x": 0}, {"time": 1, "type": "B", "x": 3}])
    metrics = trendweave.Metrics()
    found = rules.run(events, metrics=metrics)
    assert found.column("query").to_pylist() == [f"from_{low}" for low in range(4)]
    assert 2 * 4 <= metrics.sharing.copies <= 10 + 4
    assert metrics.sharing.queries == 10


def test_queries_that_differ_in_their_windows_sort_and_number_rows_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sorted_by = []

    def note(*arguments, **named):  # type: ignore[no-untyped-def]
        sorted_by.append(arguments[1].partition_key)
        return sort(*arguments, **named)

    sort = encoded.sort_partitions
    monkeypatch.setattr(encoded, "sort_partitions", note)
    rule = "RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B.n <= NEXT(B).n WITHIN {0} seconds SLIDE 2 seconds"
    rules = trendweave.workload({f"w{length}": rule.format(length) for length in (4, 6, 20)})
    together = rules.run(LETTERS)
    assert len(sorted_by) == 1
    for name in rules:
        alone = rules[name].run(LETTERS)
        assert rules.rows(together, name).to_pylist() == alone.to_pylist()
    assert len(sorted_by) == 4
