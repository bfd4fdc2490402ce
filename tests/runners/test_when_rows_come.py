"""`explain` says when rows come out of a stream; here rows are watched coming out, second by second."""

from __future__ import annotations

import random
import re
from typing import Any

import pyarrow as pa
import pytest

import trendweave

SCHEMA = pa.schema({"time": pa.int64(), "type": pa.string(), "k": pa.int64(), "x": pa.int64()})
NEXT, CONTIGUOUS = "SEMANTICS skip-till-next-match", "SEMANTICS contiguous"
PAST_LAST = "AFTER MATCH SKIP PAST LAST EVENT"
AT_END = "at the end of a match, once the watermark has passed it"

#: Per kind: what is returned beside the first event, the pattern, and the clauses behind it; and what is said of it.
KINDS = {
    "no clause": ("A.time", "SEQ(A, B+)", "WHERE [k] WITHIN 9 seconds", AT_END),
    "no clause, next match": ("A.time", "SEQ(A+, B)", f"WHERE [k] {NEXT} WITHIN 9 seconds", AT_END),
    "no clause, contiguous": ("A.time", "SEQ(A, B)", f"WHERE [k] {CONTIGUOUS} WITHIN 9 seconds", AT_END),
    "condition on a match": (
        "A.time",
        "SEQ(A+, B)",
        f"WHERE [k] AND SUM(A.x) > 0 {NEXT} WITHIN 9 seconds {PAST_LAST}",
        AT_END,
    ),
    "past last, closed end": ("A.time", "SEQ(A+, B)", f"WHERE [k] {CONTIGUOUS} WITHIN 9 seconds {PAST_LAST}", AT_END),
    "past last, one type": (
        "a.time",
        "SEQ(A a+, A b)",
        f"WHERE [k] AND a.x = 0 AND b.x > 0 {CONTIGUOUS} WITHIN 9 seconds {PAST_LAST}",
        AT_END,
    ),
    "past last, read as both": (
        "a.time",
        "SEQ(A a{2,}, A b)",
        f"WHERE [k] {CONTIGUOUS} WITHIN 9 seconds {PAST_LAST}",
        "up to 9 seconds after the end of a match, "
        "because a or b may go on and an earlier beginning may go on with a or b",
    ),
    "past last, bounded end": (
        "A.time",
        "A{2,3}",
        f"WHERE [k] {NEXT} WITHIN 9 seconds {PAST_LAST}",
        "up to 9 seconds after the end of a match, because A may go on",
    ),
    "past last, exactly three": ("A.time", "A{3}", f"WHERE [k] {NEXT} WITHIN 9 seconds {PAST_LAST}", AT_END),
    "past last, open start": (
        "A.time",
        "SEQ(A, B)",
        f"WHERE [k] AND A.x = B.x {NEXT} WITHIN 9 seconds {PAST_LAST}",
        "up to 9 seconds after the end of a match, because an earlier beginning may go on with B",
    ),
    "to next, open start": (
        "A.time",
        "SEQ(A, B)",
        f"WHERE [k] AND A.x = B.x {NEXT} WITHIN 9 seconds AFTER MATCH SKIP TO NEXT EVENT",
        AT_END,
    ),
    "to first": ("A.time", "SEQ(A+, B)", f"WHERE [k] {NEXT} WITHIN 9 seconds AFTER MATCH SKIP TO FIRST B", AT_END),
    "to last": (
        "A.time",
        "SEQ(A, B+)",
        f"WHERE [k] {CONTIGUOUS} WITHIN 9 seconds AFTER MATCH SKIP TO LAST B",
        "up to 9 seconds after the end of a match, because B may go on",
    ),
    "longest, Kleene end": (
        "A.time",
        "SEQ(A, B+)",
        f"WHERE [k] {NEXT} WITHIN 9 seconds LONGEST PER START",
        "up to 9 seconds after the end of a match, because B may go on",
    ),
    "longest, optional end": (
        "A.time",
        "SEQ(A, B, C?)",
        f"WHERE [k] {NEXT} WITHIN 9 seconds LONGEST PER START",
        "up to 9 seconds after the end of a match, because C may go on",
    ),
    "shortest, Kleene end": ("A.time", "SEQ(A, B+)", f"WHERE [k] {NEXT} WITHIN 9 seconds SHORTEST PER START", AT_END),
    "shortest and past last": (
        "A.time",
        "SEQ(A, B+)",
        f"WHERE [k] {NEXT} WITHIN 9 seconds {PAST_LAST} SHORTEST PER START",
        AT_END,
    ),
    "an alternative inside another": (
        "B.time",
        "(SEQ(A, B, C) OR B)",
        f"WHERE [k] {CONTIGUOUS} WITHIN 9 seconds {PAST_LAST}",
        "up to 9 seconds after the end of a match, because an earlier beginning may go on with C",
    ),
    "NOT inside": ("A.time", "SEQ(A, NOT C, B)", f"WHERE [k] {NEXT} WITHIN 9 seconds {PAST_LAST}", AT_END),
    "NOT at the end": (
        "A.time",
        "SEQ(A, NOT B)",
        "WHERE [k] WITHIN 9 seconds",
        "9 seconds after the first event of a match, because NOT guards its end until then",
    ),
    "NOT at the end of some": (
        "A.time",
        "(SEQ(A, NOT C) OR SEQ(A, B))",
        "WHERE [k] WITHIN 9 seconds",
        "at the end of a match, or 9 seconds after its first event where NOT guards its end",
    ),
    "NOT at the end of some, past last": (
        "A.time",
        "(SEQ(A, NOT C) OR SEQ(A, B))",
        f"WHERE [k] {NEXT} WITHIN 9 seconds {PAST_LAST}",
        "9 seconds after the first event of a match, because NOT guards the end of some until then",
    ),
    "NOT at the end, past last": (
        "A.time",
        "SEQ(A+, NOT B)",
        f"WHERE [k] {NEXT} WITHIN 9 seconds {PAST_LAST}",
        "9 seconds after the first event of a match, because NOT guards its end until then",
    ),
    "complete, closed end": ("A.time", "SEQ(A+, B)", "WHERE [k] WITHIN 9 seconds", AT_END),
    "complete, Kleene end": (
        "A.time",
        "SEQ(A, B+)",
        "WHERE [k] WITHIN 9 seconds",
        "9 seconds after the first event of a match, because a longer one that holds it may go on with B",
    ),
    "complete, optional end": (
        "A.time",
        "SEQ(A, B, C?)",
        "WHERE [k] WITHIN 9 seconds",
        "at the end of a match, or 9 seconds after its first event where a longer one that holds it may go on with C",
    ),
    "complete, Kleene end, contiguous": (
        "A.time",
        "SEQ(A, B+)",
        f"WHERE [k] {CONTIGUOUS} WITHIN 9 seconds",
        "up to 9 seconds after the end of a match, because B may go on",
    ),
    "complete, an alternative inside another": (
        "B.time",
        "(SEQ(A, B, C) OR B)",
        f"WHERE [k] {NEXT} WITHIN 9 seconds",
        "up to 9 seconds after the end of a match, because C may go on and an earlier beginning may go on with C",
    ),
    "complete, fixed length": ("A.time", "A{3}", "WHERE [k] WITHIN 9 seconds", AT_END),
    "complete, same type at both ends": ("a.time", "SEQ(A a, B b+, A a)", "WHERE [k] WITHIN 9 seconds", AT_END),
    "complete, no part of another next to each other": (
        "A.time",
        "(SEQ(A, C) OR SEQ(A, B, C, A))",
        f"WHERE [k] {CONTIGUOUS} WITHIN 9 seconds",
        AT_END,
    ),
    "complete, NOT at the beginning": (
        "A.time",
        "SEQ(NOT C, A+)",
        "WHERE [k] WITHIN 9 seconds",
        "9 seconds after the end of a match, because a longer one that holds it may go on with A",
    ),
    "complete, NOT at the end of some": (
        "A.time",
        "(SEQ(A, NOT C) OR SEQ(A, B))",
        "WHERE [k] WITHIN 9 seconds",
        "9 seconds after the first event of a match, because NOT guards the end of some until then",
    ),
    "complete and past last": (
        "A.time",
        "SEQ(A+, B)",
        f"WHERE [k] {CONTIGUOUS} WITHIN 9 seconds {PAST_LAST}",
        AT_END,
    ),
    "groups": ("A.time", "SEQ(A+, B)", f"{CONTIGUOUS} GROUP-BY k WITHIN 9 seconds {PAST_LAST}", AT_END),
    "windows": (
        "A.time",
        "SEQ(A, B+)",
        f"WHERE [k] {NEXT} WITHIN 9 seconds SLIDE 3 seconds {PAST_LAST}",
        "at the end of their window, once the watermark has reached it",
    ),
    "sessions": (
        "A.time",
        "SEQ(A, B+)",
        f"WHERE [k] {NEXT} WITHIN SESSION 4 seconds LONGEST PER START",
        "at the end of their session, once the watermark is 4 seconds after its last event",
    ),
    "aggregates": (None, "SEQ(A, B+)", "WHERE [k] WITHIN 9 seconds", "at their time, once the watermark has passed it"),
}


def asked(kind: str) -> trendweave.Query:
    first, pattern, clauses, _ = KINDS[kind]
    complete = "COMPLETE " if kind.startswith("complete") else ""
    returned = "COUNT(*)" if first is None else f"{complete}EACH FIRST({first}) AS first"
    return trendweave.query(f"RETURN {returned} PATTERN {pattern} {clauses}")


def statement(query: trendweave.Query) -> str:
    (line,) = [line for line in str(query.explain()).split("\n") if line.startswith("rows come ")]
    return line.removeprefix("rows come ").strip()


def stream(seed: int) -> list[dict[str, Any]]:
    """Events of two keys; those of one key never have the same time."""
    draw, events, time = random.Random(seed), [], 0
    for _ in range(40):
        time += draw.choice([1, 1, 1, 2, 4])
        events.append({"time": time, "type": draw.choice("AABBC"), "k": draw.randint(1, 2), "x": draw.randint(0, 1)})
    return events


def watch(query: trendweave.Query, events: list[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    """Every row with the watermark that brought it, which moves by a second at a time."""
    engine = query.incremental(SCHEMA)
    state, found = engine.start(), []
    for watermark in range(1, events[-1]["time"] + 30):
        here = pa.Table.from_pylist([event for event in events if event["time"] == watermark - 1], SCHEMA)
        state, rows = engine.push(state, here, watermark)
        found += [(watermark, row) for row in rows.to_pylist()]
    assert engine.finish(state).num_rows == 0
    return found


def delays(said: str, found: list[tuple[int, dict[str, Any]]]) -> tuple[list[int], int, int]:
    """How long after what a statement names rows came, and the least and the most that it allows."""
    seconds = int(next(iter(re.findall(r"(\d+) seconds", said)), 0))
    if said.startswith(("at the end of their window", "at the end of their session")):
        return [watermark - row["window_end"] for watermark, row in found], 0, 0
    if "where a longer one" in said:
        after = [(watermark - row["time"] == 1, watermark - row["first"] == seconds) for watermark, row in found]
        assert {True} == {any(either) for either in after}, "at one of both times"
        assert {(True, False), (False, True)} <= set(after), "there are both"
        return [1] * len(after), 1, 1
    if said.startswith("at the end of a match, or"):
        # Where NOT guards the end of a match, its row stands at the end of its window.
        after = [(watermark - row["time"], row["time"] - row["first"] == seconds) for watermark, row in found]
        assert {guarded for _, guarded in after} == {False, True}, "there are both"
        return [waited + guarded for waited, guarded in after], 1, 1
    if "after the first event" in said:
        return [watermark - row["first"] for watermark, row in found], seconds, seconds
    after = [watermark - row["time"] for watermark, row in found]
    if said.startswith(("at the end of a match", "at their time")):
        return after, 1, 1
    return after, 1 if said.startswith("up to") else seconds, seconds


@pytest.mark.parametrize("kind", KINDS)
def test_rows_come_when_explain_says(kind: str) -> None:
    query = asked(kind)
    said = statement(query)
    assert said == KINDS[kind][-1]
    streams = [stream(seed) for seed in range(2)]
    found = [watch(query, events) for events in streams]
    for events, rows in zip(streams, found, strict=True):
        batch = query.run(pa.Table.from_pylist(events, SCHEMA)).to_pylist()
        assert sorted(map(repr, batch)) == sorted(repr(row) for _, row in rows)
    waited, least, most = delays(said, [one for rows in found for one in rows])
    assert len(waited) >= 3, "there is something to watch"
    assert min(waited) >= least
    assert max(waited) <= most
    assert most == least or max(waited) > 1, "what is said to wait does"
