"""Streams for workloads: bursts of one type and calm stretches, with many trends of the workload's patterns."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.reference.pattern import Event, Or, Pattern, Repeat, Seq, leaves
from tests.reference.streams import event_rows

from .members import Member
from .related_patterns import rarely


@st.composite
def spellings(draw: DrawFn, pattern: Pattern) -> list[str]:
    """The types of one word of the pattern."""
    match pattern:
        case Event(type=kind):
            return [kind or draw(st.sampled_from(["B", "Z", "A", "D"]))]
        case Seq(parts=inner):
            return [kind for part in inner for kind in draw(spellings(part))]
        case Or(alternatives=alternatives):
            return draw(spellings(draw(st.sampled_from(alternatives))))
        case Repeat(body=body, low=low, high=high):
            times = draw(st.integers(low, min(low + 2, low + 2 if high is None else high)))
            return [kind for _ in range(times) for kind in draw(spellings(body))]
    return []


@cache
def seldom_other_keys() -> SearchStrategy[dict]:
    """Most events have one key, so that trends get long."""
    key = st.sampled_from([1, 1, 1, 1, 2, 1, None])
    group = st.sampled_from(["u", "u", "u", "v", "u", None])
    return st.fixed_dictionaries({"k": key, "g": group, "s": st.sampled_from(["p", "p", "p", "q", None])})


RUNS, LONG_RUNS = (1, 1, 1, 2, 4), (1, 1, 2, 5, 14)


@st.composite
def bursty_streams(draw: DrawFn, workload: tuple[Member, ...], max_events: int = 9) -> list[dict]:
    """Words of the patterns with runs of one type and events in between; ties, pauses, NULL and NaN; seldom rows that
    are no events, seldom in no order."""
    patterns = [member.query.pattern for member in workload if member.query is not None] or [Event("B")]
    used = sorted({leaf.type or "Z" for pattern in patterns for leaf, _ in leaves(pattern)})
    time, rows = draw(st.integers(-3, 3)), []
    while len(rows) < max_events:
        for kind in draw(spellings(draw(st.sampled_from(patterns)))):
            run = draw(st.sampled_from(LONG_RUNS if max_events > 20 else RUNS))
            if rarely(draw, 8):
                kind, run = draw(st.sampled_from([*used, "Z"])), 1
            steps = st.sampled_from([1, 1, 1, 1, 0]) if run > 1 else st.sampled_from([1, 1, 1, 1, 0, 2])
            for _ in range(run):
                time += draw(steps)
                rows.append({"time": time} | draw(event_rows([kind])) | draw(seldom_other_keys()))
        time += draw(st.sampled_from([0, 0, 0, 5]))
        if rarely(draw, 6):
            break
    rows = rows[:max_events]
    if rarely(draw, 12):
        rows[0]["time" if draw(st.booleans()) else "type"] = None
    return draw(st.permutations(rows)) if rarely(draw, 5) else rows
