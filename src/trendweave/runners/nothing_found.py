"""What is told, once per reason, of a query that may not mean what its user thinks: types that no event has, conditions
that no event meets, nothing found."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import near_names
from trendweave.expressions.arrow.evaluate import column_of, is_true
from trendweave.language.printer import print_expression
from trendweave.language.syntax_tree import Expression
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.plan import Plan, Template, VariablePlan, WholeInput
from trendweave.planning.situated_plan import QueryPlan, SituatedPlan
from trendweave.rows.times import keep_rows_with_time
from trendweave.runners.events_at_once import find_events_at_once, tell_ties_again

FindType: TypeAlias = Callable[[QueryPlan], "str | None"]
_LOG = logging.getLogger("trendweave")
#: What was found out about queries in this process, by their texts: so many at most, and so often of each, because
#: looking for a reason takes a while.
_TOLD: dict[str, list[str]] = {}
_MOST_TOLD, _MOST_REASONS = 10_000, 10
#: So many types are shown.
_SHOWN_TYPES = 12
#: Slips are looked for among the types of so many events.
_FIRST_EVENTS = 100_000
#: Conditions are looked at in so many events first; mostly one of them meets what is asked for.
_FIRST_LOOKED_AT = 1_024
#: Numbers of events are not part of a reason.
_COUNT = re.compile(r"\b\d[\d,]*\b")


def tell_again() -> None:
    """Tell of all queries once more, as to somebody else."""
    _TOLD.clear()
    tell_ties_again()


def _is_all_told(text: str) -> bool:
    return len(_TOLD.get(text, ())) >= _MOST_REASONS or (text not in _TOLD and len(_TOLD) >= _MOST_TOLD)


def _tell(text: str, told: str) -> None:
    """Warn of a query, unless the same was told of it before."""
    reasons = _TOLD.setdefault(text, [])
    reason = _COUNT.sub("", told)
    if reason not in reasons:
        _LOG.warning("%s", told)
    reasons.append(reason)


def tell_of_nothing(plan: QueryPlan, events: pa.Table, time: str, type_: str | None, rows: int) -> None:
    """Warn where events lack a type that the pattern names, or nothing was found. The same is told once of a query.

    Args:
        plan: The plan of the query, which fits the events.
        events: All events that it ran on.
        time: The column that holds the time.
        type_: The column that holds the type; None where there is none.
        rows: How many rows the result has.
    """
    if _is_all_told(plan.text):
        return
    told = _find_missing_types(_named_types(plan), events, type_)
    slips = _find_slips([plan], events, type_)
    if rows and not told and isinstance(plan, Plan):
        told = _find_unmet(plan, events, type_, with_rows=True)
    if not rows:
        told = f"the result is empty: {told or _why_nothing(plan, events, time, type_)}"
    for one in (told, slips):
        if one:
            _tell(plan.text, one)


def tell_of_rules(plans: Mapping[str, QueryPlan], events: pa.Table, find_type: FindType, rows: int) -> None:
    """Warn where no query of a workload found anything, or a type that one of them names looks like a slip.

    The same is told once of the same queries. That there are no events of a type is common where there are many.

    Args:
        plans: Their plans by name.
        events: All events that they ran on.
        find_type: Gives the column that holds the type for a query.
        rows: How many rows the result has.
    """
    text = "\n".join(plan.text for plan in plans.values())
    # Looking for slips takes a while where there are many queries, so where there are rows that is done once.
    if (rows and text in _TOLD) or _is_all_told(text):
        return
    _TOLD.setdefault(text, [])
    alike: dict[str | None, list[QueryPlan]] = {}
    for plan in plans.values():
        alike.setdefault(find_type(plan), []).append(plan)
    missing, slips = [], []
    for type_, some in alike.items():
        named = dict.fromkeys(name for plan in some for name in _named_types(plan))
        missing.append(_find_missing_types(list(named), events, type_))
        slips.append(_find_slips(some, events, type_))
    if not rows:
        none = f"none of {len(plans):,} queries has a row on {events.num_rows:,} events"
        _tell(text, f"the result is empty: {'; '.join(filter(None, missing)) or none}")
    for told in (*(missing if rows else ()), *slips):
        if "did you mean" in told:
            _tell(text, told)


def tell_of_other_types(text: str, types: frozenset[str], events: int) -> None:
    """Warn at the end of a session that saw events, and none of a type that its query names.

    Args:
        text: The query.
        types: The types that it names.
        events: How many there were.
    """
    if not _is_all_told(text):
        _tell(text, f"none of {events:,} events has a type of the query: {', '.join(sorted(types))}")


def _named_types(plan: QueryPlan) -> list[str]:
    """Types of which a trend needs, or may have, an event. What must not be there is often not there."""
    if isinstance(plan, IntervalPlan):
        return [] if plan.source is None else [plan.source]
    asked = [variable.type for variable in _trend(plan).variables if not variable.negated]
    return list(dict.fromkeys(name for name in asked if name is not None))


def _find_slips(plans: list[QueryPlan], events: pa.Table, type_: str | None) -> str:
    """Tell of types that must not be there, are not, and are nearly called like one that no query names."""
    variables = [one for plan in plans if not isinstance(plan, IntervalPlan) for one in _trend(plan).variables]
    negated = {one.type for one in variables if one.negated and one.type is not None}
    if not negated or type_ is None or type_ not in events.column_names:
        return ""
    there = set(_plain(events.column(type_).slice(0, _FIRST_EVENTS)).unique().drop_null().to_pylist())
    others = there - {one.type for one in variables}
    return _find_missing_types([name for name in sorted(negated - there) if near_names(name, others)], events, type_)


def _trend(plan: Plan | SituatedPlan) -> Plan:
    return plan.trend if isinstance(plan, SituatedPlan) else plan


def _find_missing_types(types: list[str], events: pa.Table, type_: str | None) -> str:
    if type_ is None or type_ not in events.column_names or not events.num_rows:
        return ""
    missing = [name for name in types if not _is_there_at_once(name, events.column(type_))]
    if not missing:
        return ""
    column = _plain(events.column(type_))
    # The first event of a type is found soon, where there is one.
    missing = [name for name in missing if pc.index(column, pa.scalar(name, column.type)).as_py() < 0]
    if not missing:
        return ""
    there = sorted(column.unique().drop_null().to_pylist())
    shown = ", ".join(there[:_SHOWN_TYPES])
    shown += f" and {len(there) - _SHOWN_TYPES:,} more" if len(there) > _SHOWN_TYPES else ""
    hints = [hint for hint in (near_names(name, there) for name in missing) if hint]
    message = f"no event is of type {' or '.join(missing)}; the types in {type_} are {shown or '(none)'}"
    return "; ".join([message, *hints])


def _is_there_at_once(name: str, column: pa.ChunkedArray) -> bool:
    """Whether a type is found by its place in the dictionary of the first events; other columns are not looked at."""
    if not pa.types.is_dictionary(column.type) or not column.num_chunks:
        return False
    first = column.chunk(0)
    place = pc.index(first.dictionary, pa.scalar(name, first.dictionary.type)).as_py()
    return place >= 0 and pc.index(first.indices, pa.scalar(place, first.indices.type)).as_py() >= 0


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _why_nothing(plan: QueryPlan, events: pa.Table, time: str, type_: str | None) -> str:
    """The likeliest reason, of types that are all there."""
    if not events.num_rows:
        return "there are no events"
    if isinstance(plan, IntervalPlan):
        return f"no situation, or no match of situations, is in {events.num_rows:,} rows"
    if time in events.column_names:
        events, _ = keep_rows_with_time(events, time)
    if not events.num_rows:
        return f"no row has a time in {time}"
    trend = _trend(plan)
    for key in trend.partition_key:
        if not key.nullable and column_of(events, key.path).null_count == events.num_rows:
            return f"{'.'.join(key.path)} is NULL in all events, and NULL equals nothing"
    # Conditions of trends in situations are about columns that events do not have.
    unmet = _find_unmet(trend, events, type_, with_rows=False) if isinstance(plan, Plan) else ""
    if unmet:
        return unmet
    if time in events.column_names and _find_shortest(trend) > 1:
        at_once = find_events_at_once(events.column(time), trend.window)
        if at_once:
            return at_once
    return _tell_of_sequences(trend, events.num_rows)


def _tell_of_sequences(plan: Plan, events: int) -> str:
    asked = "is in the order of the pattern and meets all conditions between events"
    if plan.match_conditions:
        asked = "is in the order of the pattern and meets all conditions between events and on the whole of it"
    if not isinstance(plan.window, WholeInput):
        asked = f"lies in one window, {asked}"
    told = f"{events:,} events hold no sequence that {asked}"
    if plan.having:
        return f"HAVING leaves out all rows, or {told}"
    return told


# Conditions on single events that no event meets, and what a template cannot do without


def _find_unmet(plan: Plan, events: pa.Table, type_: str | None, with_rows: bool) -> str:
    """Tell of conditions that no event of the type of their variable meets; empty where there are none.

    Args:
        plan: The plan of the query.
        events: All events that it ran on.
        type_: The column that holds the type; None where there is none.
        with_rows: Whether there is a result: then variables that all trends have are not looked at, as events meet
            their conditions. Else these alone explain why there is none.
    """
    told = []
    for variable in plan.variables:
        if variable.negated or not variable.local or _is_needed(plan, variable.name) == with_rows:
            continue
        for condition in variable.local:
            own = _count_unless_met(condition, variable, events, type_)
            if own:
                of_type = "" if variable.type is None else f" of type {variable.type}"
                what = f"none of {own:,} events{of_type}" if type_ else "no event"
                told.append(f"{what} meets {print_expression(condition)}, as {variable.name} has to")
                break
    return "; ".join(told)


def _find_shortest(plan: Plan) -> int:
    """How many events the shortest trends of a pattern have, NOT and conditions aside."""
    # Trends of a conjunction match both of its sides.
    return max(_find_length(template) for template in plan.templates[:2])


def _is_needed(plan: Plan, variable: str) -> bool:
    return any(_find_length(template, without=variable) == 0 for template in plan.templates[:2])


def _find_length(template: Template, without: str | None = None) -> int:
    """The events of a shortest trend that has none of a variable; 0 where there is no such trend."""
    allowed = {state.number for state in template.states if state.variable != without}
    ends = {end.state for end in template.ends}
    following: dict[int, list[int]] = {}
    for step in template.transitions:
        if step.target in allowed:
            following.setdefault(step.source, []).append(step.target)
    reached = {start.state for start in template.starts} & allowed
    seen, length = set(reached), 1
    while reached:
        if reached & ends:
            return length
        reached = {target for state in reached for target in following.get(state, ())} - seen
        seen |= reached
        length += 1
    return 0


def _count_unless_met(condition: Expression, variable: VariablePlan, events: pa.Table, type_: str | None) -> int:
    """How many events of its type there are, if none meets a condition; 0 as soon as one does."""
    begin, size, count = 0, _FIRST_LOOKED_AT, 0
    while begin < events.num_rows:
        own = events.slice(begin, size)
        if type_ is not None and variable.type is not None:
            own = own.filter(pc.equal(_plain(own.column(type_)), variable.type))
        if own.num_rows and np.any(is_true(condition, own)):
            return 0
        begin, size, count = begin + size, size * 8, count + own.num_rows
    return count
