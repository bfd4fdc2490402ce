"""Rules that differ in constants, computed together: each gives the rows that it gives alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from zlib import crc32

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import trendweave
from tests.profiles import examples
from tests.sharing.rules import KEYS, RETURNS, STRATEGIES, WINDOWS, event_tables, rule_sets
from trendweave.errors import DataError, ExecutionError, TrendweaveError
from trendweave.programs.program import EVERYTHING
from trendweave.programs.shared import copies
from trendweave.programs.shared.alike import AlikeUnit, bind_alike
from trendweave.programs.shared.unit import MEMBER, SharingMetrics
from trendweave.programs.trends.program import bind_trends
from trendweave.sharing import constants, units
from trendweave.sharing.constants import find_alike
from trendweave.workload import Workload


@pytest.fixture(scope="module", autouse=True)
def two_are_enough() -> Iterator[None]:
    """Workloads of a few rules are small enough to be looked at."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constants, "LEAST", 2)
        yield


def make_workload(texts: tuple[str, ...], events: pa.Table) -> Workload:
    """Rules that fit the events and differ in constants; anything else is of no interest here."""
    try:
        workload = trendweave.workload({f"rule {number}": text for number, text in enumerate(texts)})
        workload.check(events)
    except TrendweaveError:
        assume(False)
    assume("alike but for constants" in workload.explain())
    return workload


def rows_of(table: pa.Table) -> Counter[str]:
    return Counter(repr(_plain(list(row.values()))) for row in table.to_pylist())


def _plain(value: object) -> object:
    match value:
        case float():
            return f"{value + 0.0:.9g}"
        case list():
            return [_plain(one) for one in value]
        case dict():
            return {name: _plain(one) for name, one in value.items()}
    return value


def assert_same_as_alone(workload: Workload, found: pa.Table, events: pa.Table) -> None:
    for name, query in workload.items():
        assert rows_of(workload.rows(found, name)) == rows_of(query.run(events)), str(query)


@examples(80)
@given(rule_sets(), event_tables())
def test_each_rule_gives_the_rows_that_it_gives_alone(texts: tuple[str, ...], events: pa.Table) -> None:
    workload = make_workload(texts, events)
    assert_same_as_alone(workload, workload.run(events), events)


@examples(25)
@given(rule_sets(), event_tables(), st.lists(st.integers(0, 20), max_size=3).map(sorted))
def test_piece_by_piece(texts: tuple[str, ...], events: pa.Table, cuts: list[int]) -> None:
    """Also those that carry something from step to step, which are alone only because workloads may change."""
    workload = make_workload(texts, events)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(units, "_carries", lambda plan: False)
        engine = workload.incremental(events)
    state, found = engine.start(), []
    times = events.column("time").to_numpy()
    before = -1
    for cut in [*cuts, 20]:
        piece = events.filter(pa.array((times >= before) & (times < cut)))
        state, rows = engine.push(engine.read(state.to_bytes()), piece, cut)
        found.append(rows)
        before = cut
    found.append(engine.finish(state))
    assert_same_as_alone(workload, pa.concat_tables(found), events)


@examples(25)
@given(rule_sets(RETURNS[:3], WINDOWS[:2], KEYS[1:2], STRATEGIES[:1]), event_tables())
def test_in_parts_that_are_merged(texts: tuple[str, ...], events: pa.Table) -> None:
    """Rows of different keys lie in different places; what they say of one group is merged."""
    workload = make_workload(texts, events)
    unit = make_unit(workload, events)
    assume(unit.mergers()[0] is not None)
    rows, _ = unit.base.prepare(events)
    keys = unit.base.preparation.partition_key
    places = np.array([crc32(repr(row).encode()) % 3 for row in rows.select(keys).to_pylist()], np.int64)
    parts = [
        part.table
        for place in range(3)
        for part in unit.compute(rows.filter(pa.array(places == place)), EVERYTHING, SharingMetrics(), in_parts=True)
    ]
    if not parts:  # No rule wants any of the rows.
        assert not any(query.run(events).num_rows for query in workload.values())
        return
    table = unit.merge(0, pa.concat_tables(parts), EVERYTHING).table
    for number, name in enumerate(workload):
        own = table.filter(pa.array(table.column(MEMBER).to_numpy() == number)).drop_columns([MEMBER])
        assert rows_of(own) == rows_of(workload[name].run(events))


@examples(20)
@given(rule_sets(), event_tables())
def test_rules_in_small_pieces(texts: tuple[str, ...], events: pa.Table) -> None:
    workload = make_workload(texts, events)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(copies, "COPIES_AT_ONCE", 3)
        assert_same_as_alone(workload, workload.run(events), events)


def make_unit(workload: Workload, events: pa.Table) -> AlikeUnit:
    plans = [query.plan for query in workload.values()]
    groups = find_alike(plans, range(len(plans)))
    assume(len(groups) == 1 and len(groups[0].members) == len(plans))
    plan = plans[0]
    assert isinstance(plan, trendweave.Plan)
    return bind_alike(groups[0], bind_trends(plan, events.schema, "time", "type"))


EVENTS = pa.table({"time": [1, 2, 3, 4, 5, 6], "type": ["A"] * 6, "k": list("uuuvvv"), "x": [1, 2, 3, 4, 5, 6]})


# Compiled, kernels notice that numbers pass 64 bits without a word.
@pytest.mark.filterwarnings("ignore:overflow")
def test_an_error_names_the_rule() -> None:
    """Only the rule with a low threshold has a sum with more digits than 64 bits have."""
    events = pa.table({"time": np.arange(62), "type": ["A"] * 62, "x": np.arange(62)})
    text = "RETURN SUM(S.x) PATTERN A S+ WHERE S.x > {x}"
    rules = trendweave.workload({f"above {x}": text.format(x=x) for x in (58, 3, 57, 50)})
    with pytest.raises(ExecutionError, match="TW402") as error:
        rules.run(events, numbers="int64")
    assert [problem.query for problem in error.value.problems] == ["above 3"]
    assert MEMBER not in str(error.value)
    assert rules.without("above 3").run(events, numbers="int64").num_rows == 3


def test_the_number_of_trends_is_limited_per_rule() -> None:
    rules = trendweave.workload({f"r{x}": f"RETURN TRENDS PATTERN A S+ WHERE S.x > {x}" for x in (1, 2, 3)})
    assert rules.run(EVENTS, max_trends=31).num_rows == 31 + 15 + 7
    with pytest.raises(ExecutionError, match="TW412") as error:
        rules.run(EVENTS, max_trends=30)
    assert [problem.query for problem in error.value.problems] == ["r1"]


def test_rows_are_copied_only_into_rules_that_want_them() -> None:
    """SEQ(A S, A E): no rule but two ever has an S, and those only near it."""
    size = 1_000
    events = pa.table({"time": np.arange(size), "type": ["A"] * size, "x": np.arange(size)})
    text = "RETURN COUNT(*) PATTERN SEQ(A S, A E) WHERE S.x = {x} WITHIN 10 seconds SLIDE 10 seconds"
    rules = trendweave.workload({f"r{x}": text.format(x=x) for x in (5, 500, *range(2_000, 2_500))})
    metrics = trendweave.Metrics()
    found = rules.run(events, metrics=metrics)
    assert found.column("query").to_pylist() == ["r5", "r500"]
    assert 0 < metrics.sharing.copies <= 2 * 20
    assert metrics.sharing.queries == 502


def test_ordered_and_limited_rows_are_those_of_each_rule() -> None:
    text = "RETURN k, COUNT(*) AS n PATTERN A S WHERE S.x > {x} GROUP-BY k ORDER BY n DESC LIMIT 1"
    rules = trendweave.workload({f"r{x}": text.format(x=x) for x in (0, 2, 4)})
    found = rules.run(EVENTS).to_pylist()
    assert [(row["query"], row["k"], int(row["n"])) for row in found] == [
        ("r0", "u", 3),
        ("r2", "v", 3),
        ("r4", "v", 2),
    ]


@pytest.mark.parametrize("count", [1_000, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_thousands_of_rules(count: int) -> None:
    text = "RETURN COUNT(*) PATTERN A S+ WHERE [k] AND S.k = '{k}' AND S.x > {x} WITHIN 9 seconds SLIDE 9 seconds"
    queries = {f"r{number}": text.format(k="uvw"[number % 3], x=10 * number / count) for number in range(count)}
    rules = trendweave.workload(queries)
    found = rules.run(EVENTS)
    names = found.column("query").to_pylist()
    # Values 1, 2, 3 of u are above thresholds below 3; 4, 5, 6 of v above those below 6; there is no w.
    wanted = [number for number in range(count) if 10 * number / count < (3, 6, 0)[number % 3]]
    assert names == [f"r{number}" for number in wanted]
    for number in (wanted[0], wanted[1], wanted[-1], wanted[count // 5]):
        name = f"r{number}"
        assert rows_of(rules.rows(found, name)) == rows_of(rules[name].run(EVENTS))


@pytest.mark.parametrize("number", [0, 17, 99])
def test_one_bad_rule_among_many_is_named(number: int) -> None:
    text = "RETURN COUNT(*) PATTERN A S+ WHERE S.{name} > {x}"
    queries = {f"r{x}": text.format(name="y" if x == number else "x", x=x) for x in range(100)}
    with pytest.raises(DataError) as error:
        trendweave.workload(queries).run(EVENTS)
    assert [problem.query for problem in error.value.problems] == [f"r{number}"]
    queries[f"r{number}"] = "RETURN COUNT(* PATTERN A"
    with pytest.raises(TrendweaveError) as error:
        trendweave.workload(queries)
    assert {problem.query for problem in error.value.problems} == {f"r{number}"}


@pytest.mark.parametrize("test", ["=", ">"])
@pytest.mark.parametrize("parts", ["A a, ANY x", "ANY a, B x"])
@pytest.mark.parametrize("returned", ["TRENDS(x)", "COUNT(*), SUM(x.x) AS s", "EACH COLLECT_LIST(x.type) AS types"])
def test_events_of_any_type(returned: str, parts: str, test: str) -> None:
    text = "RETURN {} PATTERN SEQ({}) WHERE [k] AND x.x {} {} GROUP-BY k WITHIN 9 seconds SLIDE 9 seconds"
    draw = np.random.default_rng(7)
    kinds, values = draw.choice(list("ABZ"), 60), draw.integers(0, 4, 60)
    events = pa.table({"time": range(60), "type": kinds.tolist(), "x": values, "k": draw.integers(0, 2, 60)})
    rules = trendweave.workload({f"r{x}": text.format(returned, parts, test, x) for x in range(4)})
    found = rules.run(events)
    for name in rules:
        assert rows_of(rules.rows(found, name)) == rows_of(rules[name].run(events))
    assert found.num_rows
