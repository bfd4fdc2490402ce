"""Queries with edge predicates side by side: which are laid over each other, and that each has its own rows."""

from __future__ import annotations

from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trendweave
from tests.kernels.forced import force_tier
from tests.profiles import examples
from tests.reference.query import STRATEGIES, text
from tests.reference.workloads.bursty_streams import bursty_streams
from tests.reference.workloads.members import Member
from tests.reference.workloads.strategies import EDGED, workloads
from tests.runners.reference_tables import rows_of, table_of
from trendweave.planning.plan import Plan
from trendweave.sharing.lanes import Lanes, share_lanes

FALLING = "RETURN company, {returns} PATTERN {pattern} WHERE [company] AND {where} GROUP-BY company WITHIN {window}"
TUMBLING, SLIDING = "60 seconds SLIDE 60 seconds", "60 seconds SLIDE 20 seconds"


def falling(
    pattern: str = "S+", returns: str = "COUNT(*)", where: str = "S.price > NEXT(S).price", window: str = SLIDING
) -> str:
    return FALLING.format(pattern=pattern, returns=returns, where=where, window=window)


def plans_of(texts: list[str]) -> list[Plan]:
    plans = [trendweave.query(text).plan for text in texts]
    return [plan for plan in plans if isinstance(plan, Plan)]


def units_of(*texts: str) -> list[Lanes]:
    return share_lanes(plans_of(list(texts)), list(range(len(texts))))


def some_events(count: int = 300, seed: int = 1) -> pa.Table:
    """Four types, three companies, ties in time."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "time": pa.array(np.sort(rng.integers(0, count // 2, count)), pa.timestamp("s")),
            "type": rng.choice(list("ABCS"), count, p=[0.2, 0.1, 0.1, 0.6]),
            "price": rng.integers(0, 50, count),
            "share": np.round(rng.random(count), 3),
            "company": rng.integers(0, 3, count),
            "sector": rng.integers(0, 2, count),
        }
    )


def assert_as_alone(texts: dict[str, str], events: pa.Table, **options: Any) -> None:
    """Rows, and their order where the query has one; floats to the last digits."""
    rules = trendweave.workload(texts)
    rows = rules.run(events, **options)
    for name, written in texts.items():
        alone = trendweave.query(written).run(events, **options)
        own = rules.rows(rows, name)
        assert own.schema.names == alone.schema.names
        assert own.num_rows == alone.num_rows
        mine, theirs = own.to_pylist(), alone.to_pylist()
        if "ORDER BY" not in written:
            groups = [key for key in ("window_start", "company", "sector") if key in alone.schema.names]
            mine, theirs = (sorted(found, key=itemgetter(*groups)) for found in (mine, theirs))
        for row, other in zip(mine, theirs, strict=True):
            assert row == {key: pytest.approx(v, rel=1e-9) if isinstance(v, float) else v for key, v in other.items()}


VARIED = {
    "falling": falling(),
    "dear": falling(where="S.price > NEXT(S).price AND S.price > 10", returns="COUNT(*), SUM(S.price)"),
    "after": falling("SEQ(A X, S+)", "COUNT(S), MIN(S.price), AVG(X.price)"),
    "between": falling("SEQ(C, S+, B)", "COUNT(*), AVG(S.price)", "S.price > NEXT(S).price AND C.price < 30"),
    "undisturbed": falling("SEQ(C, NOT A, S+, B)", "COUNT(*), MAX(S.share), SUM(S.share)"),
    "again": falling("(SEQ(A, S+))+", "COUNT(A), COUNT(S)"),
    "spread": falling("SEQ(S+, B)", "VARIANCE(S.price), SUM(B.price), SUM(S.price)"),
    "most": falling(returns="COUNT(*) AS n", window=SLIDING + " HAVING n > 20 ORDER BY n DESC LIMIT 2"),
}


# Which queries share


def test_types_ends_and_conditions_on_single_events_may_differ() -> None:
    (unit,) = units_of(*VARIED.values())
    assert unit.members == tuple(range(8))
    # S, A|C before it, B after it, and C before it where no A may lie between.
    assert len(unit.plan.template.states) == 4
    assert unit.shared == ("S -> S where price > NEXT price, in 7 lanes",)
    # The first and the last one differ only in what they return.
    assert unit.lane_of == (0, 1, 2, 3, 4, 5, 6, 0)


def test_a_lane_has_its_own_beginnings_ends_and_steps() -> None:
    (unit,) = units_of(falling("SEQ(A, S+)"), falling("SEQ(S+, B)"))
    first, second = unit.lanes
    assert {role: reading.type for role, reading in first.readings} == {0: "A", 1: "S"}
    assert {role: reading.type for role, reading in second.readings} == {1: "S", 2: "B"}
    assert [sorted(roles) for roles in (first.starts, first.ends, second.starts, second.ends)] == [[0], [1], [1], [2]]
    assert (sorted(first.steps), sorted(second.steps)) == ([(0, 1), (1, 1)], [(1, 1), (1, 2)])


def test_names_of_variables_do_not_matter() -> None:
    (unit,) = units_of(falling(), falling("S T+", "SUM(T.price)", "T.price > NEXT(T).price"))
    assert unit.lane_of == (0, 0)


@pytest.mark.parametrize(
    "other",
    [
        falling(where="S.price < NEXT(S).price"),
        falling(window=TUMBLING),
        falling().replace("[company]", "[company, sector]"),
        falling(window="60 seconds"),
        falling(returns="COUNT(DISTINCT S.price)"),
        falling(where="S.price > 3"),
        falling("SEQ(S+, NOT A)"),
        falling("A S+"),
        falling().replace("company, COUNT(*)", "EACH COUNT(S)"),
        falling().replace("PATTERN", "SEMANTICS skip-till-next-match PATTERN"),
    ],
    ids=["comparison", "window", "key", "moving", "distinct", "no comparison", "last NOT", "type", "each", "strategy"],
)
def test_what_must_be_the_same(other: str) -> None:
    assert units_of(falling(), other) == []


def test_more_than_64_lanes_are_two_units() -> None:
    texts = [falling(where=f"S.price > NEXT(S).price AND S.price != {number}") for number in range(70)]
    assert [len(unit.lanes) for unit in units_of(*texts)] == [64, 6]


def test_rules_that_want_values_of_their_own_are_looked_up() -> None:
    texts = [falling(where=f"S.price > NEXT(S).price AND S.share = {number}") for number in range(9)]
    assert units_of(*texts) == []
    assert units_of(*texts[:7]) == []
    assert len(units_of(*texts[:2], falling())) == 1


def test_explained() -> None:
    shown = trendweave.workload(VARIED).explain()
    assert "one lane per query, 8 different queries" in shown
    assert "S -> S where price > NEXT price, in 7 lanes" in shown


# Rows


@pytest.mark.parametrize("numbers", ["decimal", "float64"])
@pytest.mark.parametrize("tier", ["Python's integers", "packs"])
def test_rows_are_those_of_each_query_alone(tier: str, numbers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    force_tier(tier, monkeypatch)
    assert_as_alone(VARIED, some_events(80), numbers=numbers)


def test_rows_of_a_compiled_loop() -> None:
    few = {name: VARIED[name] for name in ("falling", "undisturbed", "most")}
    assert_as_alone(few, some_events(3_000), numbers="decimal")


def test_large_numbers() -> None:
    """More than 2 ** 62 trends in some lanes, and few in others."""
    count = 150
    events = pa.table(
        {
            "time": pa.array(range(count), pa.timestamp("s")),
            "type": ["S"] * count,
            "price": list(range(count))[::-1],
            "company": [0] * count,
        }
    )
    long = "1 hour SLIDE 1 hour"
    texts = {"all": falling(returns="COUNT(*), SUM(S.price)", window=long)}
    texts["even"] = falling(where="S.price > NEXT(S).price AND S.price % 40 = 0", window=long)
    assert_as_alone(texts, events, numbers="text")


def test_groups_of_other_keys() -> None:
    base = falling().replace("[company]", "[company, sector]")
    texts = {
        "both": base.replace("Y company", "Y company, sector").replace("RETURN company", "RETURN company, sector"),
        "one": base,
        "late": base.replace("COUNT(*)", "COUNT(*), MAX(S.price)").replace("AND", "AND S.price < 20 AND", 1),
        "none": base.replace("GROUP-BY company ", "").replace("RETURN company, ", "RETURN "),
    }  # fmt: skip
    assert len(units_of(*texts.values())) == 1
    assert_as_alone(texts, some_events())


def as_lanes(workload: tuple[Member, ...], strategy: str) -> tuple[Member, ...]:
    """The same with another strategy."""
    changed = [(one, replace(one.query, strategy=strategy)) for one in workload if one.query is not None]
    return tuple(replace(one, query=query, written=text(query)) for one, query in changed)


ALL_EDGED = replace(EDGED, edged=True)


@st.composite
def related(draw: st.DrawFn) -> tuple[Member, ...]:
    """Mostly with conditions on neighbours: without them few strategies have anything to lay over each other."""
    workload = draw(workloads(draw(st.sampled_from([ALL_EDGED, ALL_EDGED, ALL_EDGED, EDGED]))))
    strategy = draw(st.sampled_from([None, None, *STRATEGIES]))
    return as_lanes(workload, strategy) if strategy is not None else workload


def has_lanes(workload: tuple[Member, ...]) -> bool:
    plans = plans_of([member.written for member in workload])
    return len({plan.text for plan in plans}) > 1 and bool(share_lanes(plans, list(range(len(plans)))))


@st.composite
def lanes_and_streams(draw: st.DrawFn) -> tuple[tuple[Member, ...], list[dict[str, Any]]]:
    """Workloads of which some queries are laid over each other: events are drawn for those alone."""
    workload = draw(related().filter(has_lanes))
    return workload, draw(bursty_streams(workload, max_events=12))


@examples(60)
@given(lanes_and_streams())
def test_related_queries_against_the_reference(case: tuple[tuple[Member, ...], list[dict[str, Any]]]) -> None:
    """Whatever is laid over each other, the rows are those of the definition."""
    workload, events = case
    rules = trendweave.workload({member.name: member.written for member in workload})
    found = rules.run(table_of(events))
    for member in workload:
        member.assert_rows(events, rows_of(rules.rows(found, member.name)))


def test_a_sum_beyond_floats_names_its_query() -> None:
    """Of two that share the search, only one has trends."""
    columns = {"time": range(4), "type": list("CSSS"), "company": [1] * 4, "price": [4, 3, 2, 1], "share": [1e308] * 4}
    texts = {name: falling(f"SEQ({kind}, S+)", "SUM(S.share) AS s") for name, kind in (("large", "C"), ("other", "A"))}
    workload = trendweave.workload(texts)
    assert "one lane per query" in workload.explain()
    with pytest.raises(trendweave.TrendweaveError) as caught:
        workload.run(pa.table(columns))
    assert [(problem.code, problem.query) for problem in caught.value.problems] == [("TW402", "large")]
