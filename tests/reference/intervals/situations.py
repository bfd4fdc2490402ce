"""Situations: the maximal runs of steps for which a condition holds, per partition.

A step is the set of a partition's events of one time.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from ..scalars import Scalar, identity
from .conditions import Row, truth
from .query import Condition, Definition, Query

Time = int | float


@dataclass(frozen=True)
class Situation:
    """`[start, end)`; no end when it still runs where the input ends. `events` are places in the input.

    Whether its length is one that its definition allows is not yet asked.
    """

    name: str
    start: Time
    end: Time | None
    events: tuple[int, ...] = ()


@dataclass(frozen=True)
class Partition:
    """One partition: its values of PARTITION BY, its times in order, and the situations of each name in order."""

    values: tuple[Scalar, ...]
    times: tuple[Time, ...]
    situations: dict[str, list[Situation]]


def partitions(query: Query, rows: list[Row]) -> list[Partition]:
    """Each partition with its situations. NULL is a value like others here: equal NULLs are one partition."""
    members: dict[tuple, list[int]] = {}
    for index, row in enumerate(rows):
        if is_interval(row) if query.from_intervals else row["time"] is not None:
            members.setdefault(tuple(identity(row[name]) for name in query.partition_by), []).append(index)
    read = _from_intervals if query.from_intervals else _from_events
    result = []
    for indices in members.values():
        values = tuple(rows[indices[0]][name] for name in query.partition_by)
        result.append(Partition(values, *read(query, rows, indices)))
    return result


# ---------------------------------------------------------------------------------------------------------- from events


def _from_events(query: Query, rows: list[Row], indices: list[int]) -> tuple[tuple[Time, ...], dict]:
    steps = steps_of(rows, indices)
    times = tuple(rows[step[0]]["time"] for step in steps)
    return times, {definition.name: derive(definition, rows, steps) for definition in query.definitions}


def steps_of(rows: list[Row], indices: list[int]) -> list[list[int]]:
    in_order = sorted(indices, key=lambda index: rows[index]["time"])
    return [list(step) for _, step in itertools.groupby(in_order, key=lambda index: rows[index]["time"])]


def derive(definition: Definition, rows: list[Row], steps: list[list[int]]) -> list[Situation]:
    """The runs of one name; a run ends at the time of the first step after it."""
    situations = []
    run: list[list[int]] = []
    for place, step in enumerate(steps):
        before = steps[place - 1] if place > 0 else []
        if holds_for_step(definition.condition, rows, step, before):
            run.append(step)
        elif run:
            situations.append(_situation(definition.name, rows, run, end=rows[step[0]]["time"]))
            run = []
    if run:
        situations.append(_situation(definition.name, rows, run, end=None))
    return situations


def holds_for_step(condition: Condition, rows: list[Row], step: list[int], before: list[int]) -> bool:
    """Does it hold for all events of the step, whichever event of the step before is the previous one? NULL is no."""
    previous_events = [rows[index] for index in before] or [None]
    return all(
        truth(condition, rows[index], previous) is True for index, previous in itertools.product(step, previous_events)
    )


def _situation(name: str, rows: list[Row], run: list[list[int]], end: Time | None) -> Situation:
    return Situation(name, rows[run[0][0]]["time"], end, tuple(index for step in run for index in step))


# ------------------------------------------------------------------------------------------------------- from intervals


def is_interval(row: Row) -> bool:
    """A name, a start, and an end after it or none yet. Other rows are no intervals: they are dropped."""
    if row["name"] is None or row["start"] is None:
        return False
    return row["end"] is None or row["start"] < row["end"]


def _from_intervals(query: Query, rows: list[Row], indices: list[int]) -> tuple[tuple[Time, ...], dict]:
    """Something is seen at the starts and the ends of intervals, and at no other time.

    As with situations from events, the end of an interval is known at its end and not before. Intervals of names that
    the query does not use are not looked at.
    """
    names = [definition.name for definition in query.definitions]
    used = [Situation(rows[i]["name"], rows[i]["start"], rows[i]["end"]) for i in indices if rows[i]["name"] in names]
    used.sort(key=lambda situation: situation.start)
    times = {situation.start for situation in used} | {situation.end for situation in used} - {None}
    return tuple(sorted(times)), {name: [s for s in used if s.name == name] for name in names}
