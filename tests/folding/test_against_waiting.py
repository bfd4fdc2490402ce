"""Streams that forget events against the same streams that keep them: the same rows from every call."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as hs

from tests.folding.tables import SCHEMA, table_of
from tests.profiles import examples
from tests.reference.counted_streams import PLAIN_DOUBLES, blocked_queries, counted_queries, counted_streams
from tests.reference.query import Attribute, Calculated, Query, columns, text
from tests.reference.streams import FRUITFUL, queries
from tests.runners.reference_tables import rows_of
from tests.runners.test_incremental import pieces
from tests.runners.test_local_against_reference import planned
from tests.workloads.judging import assert_equal_rows
from trendweave.programs.bind import bind
from trendweave.runners.incremental import Incremental
from trendweave.runners.options import Settings


@hs.composite
def queries_with_outputs(draw: hs.DrawFn) -> Query:
    """With HAVING, ORDER BY, and numbers that are calculated from aggregates."""
    drawn = draw(queries(pattern=draw(hs.sampled_from(FRUITFUL)), calculated=True, ordered=True))
    counted = draw(counted_queries(pattern=drawn.pattern))
    # The groups of the one are not those of the other.
    orders = tuple(order for order in drawn.order_by if not any(isinstance(c, Attribute) for c in columns(order.value)))
    more = [output for output in drawn.aggregates if isinstance(output, Calculated)]
    return replace(counted, aggregates=(*counted.aggregates, *more), having=drawn.having, order_by=orders)


@given(
    counted_queries() | queries_with_outputs() | blocked_queries(), hs.sampled_from(["decimal", "float64"]), hs.data()
)
@examples(40)
def test_each_call_gives_the_same_rows(query: Query, numbers: str, data: hs.DataObject) -> None:
    program = bind(planned(query).plan, SCHEMA, "time", "type", Settings(numbers=numbers))
    steps = program.steps()
    assume(steps is not None and steps.folds)
    forgets, keeps = Incremental(program), Incremental(replace(program, folds=False))
    events = data.draw(hs.permutations(data.draw(counted_streams(query.pattern, 10, PLAIN_DOUBLES))))
    if numbers == "float64":
        events = [event | {"x": event["x"] and event["x"] % 5} for event in events]
    state, kept = forgets.start(), keeps.start()
    for piece, watermark in pieces(data, events):
        state, found = forgets.push(forgets.read(state.to_bytes()), table_of(piece), watermark)
        kept, expected = keeps.push(kept, table_of(piece), watermark)
        assert_equal_rows(rows_of(expected), rows_of(found), text(query), in_order=False)
        assert (state.late, state.watermark) == (kept.late, kept.watermark)
        # Events with the same timestamp are counted when they are let go, which is sooner here.
        assert replace(state.dropped, same_time=None) == replace(kept.dropped, same_time=None)
        if data.draw(hs.integers(0, 3)) == 3:
            state = kept  # a state of waiting rows, as an earlier release left it, is gone on with
    found, expected = forgets.finish(state), keeps.finish(kept)
    assert_equal_rows(rows_of(expected), rows_of(found), text(query), in_order=False)
