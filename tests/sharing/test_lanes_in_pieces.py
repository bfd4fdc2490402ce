"""Queries side by side, piece by piece and in parts that are merged: each has the rows that it has alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trendweave
from tests.profiles import examples
from tests.sharing.test_lanes import VARIED, falling, some_events, units_of
from trendweave.planning.plan import Plan
from trendweave.programs.program import EVERYTHING
from trendweave.programs.shared.program import Shared, bind_shared
from trendweave.programs.shared.results import SLOT
from trendweave.programs.trends.program import bind_trends
from trendweave.sharing.units import plan_sharing
from trendweave.workload import Workload

BY_BOTH = falling().replace("[company]", "[company, sector]")
#: Groups whose rows lie in several partitions, as well as such that do not.
SPREAD = {
    "whole": BY_BOTH.replace("GROUP-BY company ", "").replace("RETURN company, ", "RETURN "),
    "grouped": BY_BOTH.replace("COUNT(*)", "COUNT(*), SUM(S.price), MAX(S.share)"),
    "first": BY_BOTH.replace("COUNT(*)", "COUNT(*) AS n") + " ORDER BY n DESC LIMIT 1",
    "final": BY_BOTH.replace("BY company", "BY company, sector").replace("RETURN company", "RETURN company, sector"),
}


def assert_same_rows(rules: Workload, found: pa.Table, events: pa.Table) -> None:
    for name, query in rules.items():
        mine, alone = rules.rows(found, name).to_pylist(), query.run(events).to_pylist()
        assert len(mine) == len(alone)
        for row, other in zip(sorted(mine, key=repr), sorted(alone, key=repr), strict=True):
            assert row == {key: pytest.approx(v, rel=1e-9) if isinstance(v, float) else v for key, v in other.items()}


@examples(8)
@given(cuts=st.lists(st.integers(1, 99), max_size=4, unique=True).map(sorted), seed=st.integers(0, 9))
def test_piece_by_piece(cuts: list[int], seed: int) -> None:
    """Events come in pieces, up to a time that no later event lies before."""
    events, rules = some_events(200, seed), trendweave.workload(VARIED)
    engine = rules.incremental(events)
    state, found, before = engine.start(), [], 0
    for cut in [*cuts, 100]:
        times = events.column("time").cast(pa.int64()).to_numpy()
        piece = events.filter(pa.array((times >= before) & (times < cut)))
        state, rows = engine.push(engine.read(state.to_bytes()), piece, np.datetime64(cut, "s").astype(object))
        found.append(rows)
        before = cut
    found.append(engine.finish(state))
    assert_same_rows(rules, pa.concat_tables(found), events)


def shared_program(texts: dict[str, str], events: pa.Table) -> Shared:
    plans = [trendweave.query(text).plan for text in texts.values()]
    trends = [plan for plan in plans if isinstance(plan, Plan)]
    programs = {
        name: bind_trends(plan, events.schema, "time", "type") for name, plan in zip(texts, trends, strict=True)
    }
    return bind_shared(programs, plan_sharing(trends))


def test_in_parts_that_are_merged() -> None:
    """Rows of one company and sector lie in one place, those of a company in several."""
    events = some_events()
    assert len(units_of(*SPREAD.values())) == 1
    program = shared_program(SPREAD, events)
    parts = program.partials()
    assert parts is not None
    place = (events.column("company").to_numpy() * 2 + events.column("sector").to_numpy()) % 3
    computed = []
    for number in range(3):
        rows, _ = program.prepare(events.filter(pa.array(place == number)))
        computed.append(parts.compute(rows, EVERYTHING))
    together = pa.concat_tables(computed)
    slots = together.column(SLOT).to_numpy()
    merged = [parts.merge(together.filter(pa.array(slots == slot)), EVERYTHING) for slot in np.unique(slots)]
    assert_same_rows(trendweave.workload(SPREAD), pa.concat_tables(merged), events)
