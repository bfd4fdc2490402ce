"""Workloads in the stateful operator of Spark streams, without a JVM."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as hs

from tests.profiles import examples
from tests.reference.workloads.members import Member
from tests.reference.workloads.strategies import Variety, workloads_and_streams
from tests.runners.reference_tables import SCHEMA
from tests.streaming.simulated import SimulatedStream
from tests.streaming.test_state_against_reference import END, moved
from tests.workloads.judging import SHARINGS, assert_equal_rows, from_united, planned

pytestmark = pytest.mark.usefixtures("small_units")

#: Queries that meet by the same keys: Spark itself sends rows to several families, which is tested there.
ONE_FAMILY = Variety(keys=False, others=False)


@given(workloads_and_streams(ONE_FAMILY, windowed=True), hs.sampled_from(SHARINGS), hs.integers(0, 8), hs.data())
@examples(12)
def test_any_stream(
    drawn: tuple[tuple[Member, ...], list[dict]], sharing: str, delay: int, data: hs.DataObject
) -> None:
    """Cut into micro-batches, in any order, with late events: the rows of each query over the events that were not."""
    case, events = planned(drawn[0]), data.draw(hs.permutations(moved(drawn[1])))
    buckets = data.draw(hs.integers(1, 3))
    stream = SimulatedStream(case.workload, delay, buckets, sharing=sharing)
    assume(("trendweave_family",) not in stream.program.needs.together)
    cuts = sorted(data.draw(hs.lists(hs.integers(0, len(events)), max_size=4)))
    found: list[dict[str, Any]] = []
    in_time: list[dict[str, Any]] = []
    for low, high in zip([0, *cuts], [*cuts, len(events)], strict=True):
        found += stream.advance()
        in_time += [
            event
            for event in events[low:high]
            if event["time"] is None or not stream.watermark or event["time"] * 1_000 >= stream.watermark
        ]
        found += stream.push(events[low:high])
    found += stream.push([END]) + stream.advance()
    for member in case.members:
        query = case.queries[member.name]
        mine = from_united(found, member.name, query.schema(SCHEMA).names)
        if member.query is None:
            alone = SimulatedStream(query, delay, buckets, as_run=True)
            assert_equal_rows(_run(alone, events, cuts), mine, f"{member.name}\n{case}", in_order=False)
        else:
            member.assert_rows(in_time, mine, in_order=False)


def _run(stream: SimulatedStream, events: list[dict[str, Any]], cuts: list[int]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for low, high in zip([0, *cuts], [*cuts, len(events)], strict=True):
        found += stream.advance() + stream.push(events[low:high])
    return found + stream.push([END]) + stream.advance()
