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
from trendweave.errors import TrendweaveError
from trendweave.programs.program import EVERYTHING
from trendweave.programs.shared import copies
from trendweave.programs.shared.alike import AlikeUnit, bind_alike
from trendweave.programs.shared.metrics import SharingMetrics
from trendweave.programs.shared.unit import MEMBER
from trendweave.programs.trends.detection import DEFAULTS
from trendweave.programs.trends.program import bind_trends
from trendweave.sharing import constants
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
    workload = make_workload(texts, events)
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
    merger = unit.mergers()[0]
    assume(merger is not None)
    assert merger is not None
    rows, _ = unit.base.prepare(events)
    keys = unit.base.preparation.partition_key
    places = np.array([crc32(repr(row).encode()) % 3 for row in rows.select(keys).to_pylist()], np.int64)
    parts = [
        merger.compute(copied, EVERYTHING)
        for place in range(3)
        for copied in unit.copy_rows(rows.filter(pa.array(places == place)), SharingMetrics())
    ]
    assume(parts)
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
    return bind_alike(groups[0], bind_trends(plan, events.schema, "time", "type", "decimal", DEFAULTS))
