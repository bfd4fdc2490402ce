"""Columns of times: which kinds they may have, and what helps where they have another."""

from __future__ import annotations

from collections.abc import Iterable

from trendweave.errors import Problem, near_names
from trendweave.events import ColumnType, Kind, Schema
from trendweave.language.durations import duration_text
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.plan import MovingWindow, Plan, SessionWindow, SlidingWindow

TIME_KINDS = (Kind.TIMESTAMP, Kind.INTEGER, Kind.FLOAT)
_UNITS = {10**9: "seconds", 10**6: "milliseconds", 10**3: "microseconds", 1: "nanoseconds"}
#: How numbers of another type become such as are read.
CAST = "cast it to a whole number: astype('int64') of pandas, cast('bigint') of Spark"
#: A clause of a query, and the length of time that it asks for, in nanoseconds.
Length = tuple[str, int]


def time_hint(found: ColumnType) -> str:
    """The hint where a column of times has another kind.

    Args:
        found: The type of the column.
    """
    if found.kind is Kind.STRING:
        return "give time_format='iso', or how times are written, such as time_format='%d.%m.%Y %H:%M:%S'"
    if found.kind is Kind.DATE:
        return "give time_format='iso', which takes a date as midnight of UTC"
    if found.kind is Kind.DECIMAL:
        return f"{CAST}, and give time_unit where it counts no seconds"
    return "use a timestamp or a number of seconds"


def missing_time(schema: Schema, time: str) -> Problem:
    """The problem of a table without the column of times. One column of timestamps is most likely the one.

    Args:
        schema: Kinds of columns by name.
        time: The name that it should have.
    """
    stamps = [name for name, found in schema.items() if found.kind is Kind.TIMESTAMP]
    hint = near_names(time, stamps if len(stamps) == 1 else schema) or "name it with time="
    if len(stamps) == 1 and not hint.startswith("did you mean"):
        hint += f'"{stamps[0]}", the one column of timestamps'
    return Problem("TW302", f"there is no time column {time}", hint)


def find_whole_lengths(plan: Plan | IntervalPlan) -> tuple[Length, ...]:
    """The lengths of time that must be whole numbers of what the time column counts.

    Args:
        plan: Of a query of trends or of intervals.
    """
    if isinstance(plan, IntervalPlan):
        if plan.within is None or plan.every is None:
            return ()
        return ("WITHIN", plan.within), ("EVERY", plan.every)
    match plan.window:
        case SlidingWindow(length=length, slide=slide):
            return ("WITHIN", length), ("SLIDE", slide)
        case SessionWindow(gap=gap):
            return (("WITHIN SESSION", gap),)
        case MovingWindow(length=length, by="last" | "first") if _waits(plan):
            # Rows have the time at which NOT at the end of a trend is certain.
            return (("WITHIN", length),)
    return ()


def check_lengths(lengths: Iterable[Length], schema: Schema, times: Iterable[str]) -> list[Problem]:
    """Problems of lengths of time that are finer than the time column.

    Args:
        lengths: See `find_whole_lengths`.
        schema: Kinds of columns by name.
        times: The columns that hold times, of which the finest counts; nothing is told where one is not known.
    """
    steps = [_find_step(schema[time]) if time in schema else None for time in times]
    known = [step for step in steps if step is not None]
    if len(known) < len(steps):
        return []
    step = min(known)
    # A length that two clauses ask for is told once, of the first.
    asked = {length: what for what, length in reversed(tuple(lengths))}
    return [too_fine(what, length, step) for length, what in reversed(asked.items()) if length % step]


def too_fine(what: str, length: int, step: int) -> Problem:
    """The problem of a length of time that is finer than the time column.

    Args:
        what: The clause that asks for it.
        length: The length in nanoseconds.
        step: The nanoseconds in one step of the time column.
    """
    unit = _UNITS[step]
    message = f"{what} {duration_text(length)} is finer than the time column, which counts {unit}"
    return Problem("TW309", message, f"use whole {unit}, or cast the time column to a finer unit")


def _waits(plan: Plan) -> bool:
    return any(not end.guard.always_open for end in plan.template.ends)


def _find_step(found: ColumnType) -> int | None:
    """The nanoseconds in one step of a time column, where its type tells: numbers are seconds, and those with a
    fraction are read to the microsecond."""
    return {Kind.INTEGER: 10**9, Kind.FLOAT: 10**3}.get(found.kind, found.step)
