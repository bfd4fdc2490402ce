"""Tasks that prepare the rows of a stream: which rows lie in which piece, and what is counted, whatever the cuts."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as hs

import trendweave
from trendweave.programs.bind import bind
from trendweave.runners.options import Settings
from trendweave.runners.spark.packing import COUNTS, CheckedPackTask, EventPackTask
from trendweave.runners.spark.pieces import BUCKET, PackTask, Piece, join_pieces
from trendweave.runners.spark.stream_state import StateBuckets

SCHEMA = pa.schema([("k", pa.int64()), ("time", pa.int64()), ("type", pa.string()), ("x", pa.float64())])
QUERY = "RETURN k, COUNT(*) PATTERN SEQ(A+, B) WHERE [k] AND A.x > 1 GROUP-BY k WITHIN 10 seconds SLIDE 5 seconds"

some = hs.fixed_dictionaries(
    {
        "k": hs.none() | hs.integers(0, 4),
        "time": hs.none() | hs.integers(0, 40),
        "type": hs.sampled_from([None, "A", "B", "C"]),
        "x": hs.none() | hs.sampled_from([0.0, 2.0, float("nan")]),
        BUCKET: hs.integers(0, 3),
    }
)


@settings(max_examples=60, deadline=None)
@given(events=hs.lists(some, max_size=25), cut=hs.integers(1, 9), spread=hs.booleans())
def test_pieces_and_counts(events: list[dict[str, Any]], cut: int, spread: bool) -> None:
    program = bind(trendweave.query(QUERY).plan, SCHEMA, "time", "type", Settings())
    schema = program.prepare(SCHEMA.empty_table())[0].schema
    buckets = StateBuckets(4, spread)
    pack = CheckedPackTask(PackTask(schema, 5, buckets.numbers()), "nobody", buckets)
    columns = pa.schema([*(SCHEMA.field(name) for name in program.needs.read), pa.field(BUCKET, pa.int32())])
    table = pa.Table.from_pylist(events, columns)

    found = [row for batch in EventPackTask(program, pack)(table.to_batches(cut)) for row in batch.to_pylist()]

    counts = [tuple(row[column] for column in COUNTS.values()) for row in found if row[BUCKET] is None]
    assert counts == [count_by_hand(events)]
    pieces = [row for row in found if row[BUCKET] is not None and row["rows"]]
    assert len({(row[BUCKET], row["pane"]) for row in pieces}) == len(pieces)
    held = []
    for row in pieces:
        piece = Piece(*(row[name] for name in ("pane", "earliest", "latest", "rows", "checksum", "payload")))
        times = join_pieces([piece], schema).column("time").to_pylist()
        assert (min(times), max(times), {time // 5 for time in times}) == (piece.earliest, piece.latest, {piece.pane})
        held += [(buckets.numbers().index(row[BUCKET]), time) for time in times]
    kept = [(row[BUCKET], row["time"]) for row in events if is_kept(row)]
    assert sorted(held) == sorted(kept)


def is_kept(event: dict[str, Any]) -> bool:
    """NaN is above all numbers."""
    known = event["time"] is not None and event["k"] is not None
    above = event["x"] is not None and not event["x"] <= 1
    return known and (event["type"] == "B" or (event["type"] == "A" and above))


def count_by_hand(events: list[dict[str, Any]]) -> tuple[int, ...]:
    timed = [event for event in events if event["time"] is not None]
    no_type = sum(event["type"] is None for event in timed)
    return len(events), len(events) - len(timed), no_type, sum(event["type"] == "C" for event in timed)
