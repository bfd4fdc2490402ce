"""Queries and a store -> how the store is read (thesis, 3.4: Algorithms 3.1 and 3.2 and what joins them)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.plan import Plan
from trendweave.planning.situated_plan import QueryPlan
from trendweave.runners.options import Using
from trendweave.store.event_store import EventStore
from trendweave.store.patterns.access import (
    WORTH,
    Access,
    Considered,
    Everything,
    ReadSection,
    Road,
    read_everything,
)
from trendweave.store.patterns.costs import Asked, Chosen, Cost, Weights, choose_indexes
from trendweave.store.patterns.index_hits import Named, Numbering, ask_indexes, find_runs
from trendweave.store.patterns.interval_queries import plan_zones, why_all_zones
from trendweave.store.patterns.intervals import NOWHERE, Occurrences, Reach, Stretches, find_candidates, find_intervals
from trendweave.store.patterns.requirements import Requirement, Requirements, find_requirements
from trendweave.store.patterns.rewriting import Necessary
from trendweave.store.patterns.sections import Section, count_comparisons, find_sections, why_everything


def find_stretches(
    requirements: Requirements, asked: Sequence[Asked], store: EventStore, sections: Sequence[Section]
) -> tuple[list[Stretches], int]:
    """What is read per section, with what lies around trends.

    Args:
        requirements: What the query needs.
        asked: What indexes are asked.
        store: The events.
        sections: Those of the store.

    Returns:
        The stretches, and how many index entries were read for them.
    """
    coarse = [requirements.coarse(number) for number in range(len(sections))]
    entries = 0
    if asked:
        (requirement,) = requirements.templates
        symbols = sorted({one.symbol for one in asked})
        named = [ask_indexes(store, [one.term for one in asked if one.symbol == symbol]) for symbol in symbols]
        entries = sum(one.entries for one in named)
        coarse = [
            _narrow(requirements, requirement, symbols, named, store, section, number, where)
            for number, (section, where) in enumerate(zip(sections, coarse, strict=True))
        ]
    return [
        requirements.context.widen(where, reach) if where.count else where
        for where, reach in zip(coarse, requirements.reaches, strict=True)
    ], entries


def _narrow(
    requirements: Requirements,
    requirement: Requirement,
    symbols: list[int],
    named: Sequence[Named],
    store: EventStore,
    section: Section,
    number: int,
    coarse: Stretches,
) -> Stretches:
    """The replay intervals of candidates in a section."""
    necessary, pace, reach = requirement.necessary, requirements.pace, requirements.reaches[number]
    numbering = None if any(one.missing.any() for one in named) else requirements.numbering
    runs = find_runs(necessary, symbols, numbering)
    inside = {symbol: one.take(_is_inside(one, section, coarse)) for symbol, one in zip(symbols, named, strict=True)}
    occurrences = []
    for run in runs:
        if numbering is not None and len(run) > 1:
            occurrences.append(_join_run(necessary, run, [inside[symbol] for symbol in run], numbering))
            continue
        (symbol,) = run
        # Files that no index knows: their blocks are all that is known.
        blank = inside[symbol].missing[store.blocks.file[section.blocks]] & requirement.maps[number].possible[symbol]
        known = Occurrences.within(section.firsts[blank], section.lasts[blank])
        occurrences.append(Occurrences.at(inside[symbol].times).and_those(known))
    gaps = [necessary.steps_between(one[-1], other[0]).least * pace.least for one, other in pairwise(runs)]
    before = necessary.steps_between(0, symbols[0])
    after = necessary.steps_between(symbols[-1], len(necessary.symbols) - 1)
    around = (before.least * pace.least, after.least * pace.least)
    candidates = find_candidates(occurrences, gaps, reach, around)
    return find_intervals(candidates, before, after, reach, pace).common(coarse)


def _is_inside(named: Named, section: Section, coarse: Stretches) -> np.ndarray:
    """Whether events are of a section, and of stretches that the coarse map has left."""
    inside = coarse.hold(named.times)
    return inside if section.files.all() else inside & section.files[named.files]


def _join_run(necessary: Necessary, run: list[int], named: Sequence[Named], numbering: Numbering) -> Occurrences:
    """Where all symbols of a run occur at their distances (the first merge of Algorithm 3.1): each symbol counts on at
    the numbers at which all before it have counted. Those of which there are the fewest come first."""
    steps = [necessary.steps_between(run[0], symbol).least for symbol in run]
    # A run may seem to begin before the first event.
    begins = [numbering.numbers(one) + (steps[-1] - step) for one, step in zip(named, steps, strict=True)]
    counted = np.zeros(numbering.count + steps[-1], np.uint8)
    for done, place in enumerate(sorted(range(len(run)), key=lambda place: named[place].times.size)):
        here = begins[place]
        counted[here[counted[here] == done] if done else here] = done + 1
    # Numbers rise as times do, so all of them stand in one order.
    first, last = (_sort(named[place].times[counted[begins[place]] == len(run)]) for place in (0, -1))
    return Occurrences.runs(first, last)


def _sort(values: np.ndarray) -> np.ndarray:
    """Different values, rising."""
    values = np.sort(values)
    different = np.ones(values.size, np.bool_)
    different[1:] = values[1:] != values[:-1]
    return values[different]


#: Times beyond this, and lengths beyond half of it, are not counted with.
_FAR = 2**62
#: Seconds of reading everything below which nothing is planned.
_LITTLE = 0.004
#: Where this part of row groups and of blocks is left, all are read.
_NEARLY_ALL = 0.8


@dataclass(frozen=True, slots=True)
class Wish:
    """A query that is to run: its plan, the column that holds the type, if any, and whether columns order events of one
    time."""

    plan: QueryPlan
    type: str | None
    ordered: bool = False


def plan_access(
    wishes: Sequence[Wish],
    store: EventStore,
    read: Sequence[str],
    low: int | None,
    high: int | None,
    using: Using,
    weights: Weights,
) -> Access:
    """How a store is read for some queries that run together.

    Args:
        wishes: The queries.
        store: The events.
        read: The columns that they read.
        low: The first time that is asked for; None: no bound.
        high: The last one.
        using: What may be used.
        weights: Seconds, for estimates.
    """
    shown = min(1.0, len(read) / max(1, len(store.schema)))
    compared = [count_comparisons(wish.plan) for wish in wishes]
    own = [weights.comparing(number) for number in compared]
    everything = read_everything(store, low, high, shown, weights.comparing(sum(compared)))
    alone = wishes[0].plan if len(wishes) == 1 else None
    reason = _why_everything(wishes, store, using)
    if reason is not None:
        return everything.access(reason)
    if using == "auto" and everything.cost.seconds < _LITTLE:
        return everything.access("so little is stored that reading it costs less than asking what to read")
    if isinstance(alone, IntervalPlan):
        return plan_zones(alone, everything, using)
    plans = [wish.plan for wish in wishes if isinstance(wish.plan, Plan)]
    sections = find_sections(plans, store, low, high)
    if not sections:
        return everything.nothing()
    requirements = [
        find_requirements(plan, store, sections, wish.type) for plan, wish in zip(plans, wishes, strict=True)
    ]
    chosen = [
        choose_indexes(one, store, sections, shown, weight) for one, weight in zip(requirements, own, strict=True)
    ]
    considered = [*everything.considered, *_join_considered(chosen)]
    best = min(considered[1:], key=lambda one: one.cost.seconds)
    if using == "auto" and WORTH * everything.cost.seconds <= best.cost.seconds:
        why = "reading everything costs least"
        return everything.access(why, tuple(considered))
    stretches = [NOWHERE for _ in sections]
    entries = 0
    for one, choice in zip(requirements, chosen, strict=True):
        found, read_entries = find_stretches(one, choice.asked, store, sections)
        stretches = [old.united(new) for old, new in zip(stretches, found, strict=True)]
        entries += read_entries
    readable = np.logical_or.reduce([one.readable for one in requirements])
    reads, blocks, inside = [], 0, 0
    for number, (section, where) in enumerate(zip(sections, stretches, strict=True)):
        where = where.clip(low, high)
        touched = where.touch(section.firsts, section.lasts) & readable[section.blocks]
        blocks += int(touched.sum())
        inside += section.blocks.size
        groups = np.unique(store.blocks.number[section.blocks[touched]])
        if groups.size:
            reaches = [one.reaches[number] for one in requirements]
            reads.append(ReadSection(section.bucket, where, groups, _find_free(where, reaches)))
    if using == "auto" and _leaves_all(reads, everything, (blocks, inside)):
        return replace(everything.access("indexes leave nearly all of it", tuple(considered)), entries=entries)
    road: Road = "secondary indexes" if any(choice.asked for choice in chosen) else "light index"
    return Access(
        road,
        None,
        tuple(reads),
        any(one.context.apart for one in requirements),
        low,
        high,
        best.cost,
        tuple(considered),
        entries,
        int(store.groups.rows.size),
        int(store.groups.bytes.sum()),
        shown,
        (blocks, int(store.blocks.count.size)),
        everything.weights,
        sum(len(choice.asked) for choice in chosen),
        tuple(_show(one) for one in requirements),
    )


def _leaves_all(reads: Sequence[ReadSection], everything: Everything, blocks: tuple[int, int]) -> bool:
    """Whether so much is left to read that it is not worth while to choose events."""
    groups = sum(read.groups.size for read in reads)
    return groups >= _NEARLY_ALL * everything.groups.size and blocks[0] >= _NEARLY_ALL * blocks[1]


def _find_free(stretches: Stretches, reaches: Sequence[Reach]) -> np.ndarray:
    """Where no window of any query holds events of two stretches."""
    free = np.ones(stretches.count, np.bool_)
    for reach in reaches:
        free[:-1] &= reach.latest_end(stretches.highs[:-1]) < stretches.lows[1:]
    return free


def _show(requirements: Requirements) -> str:
    return "; ".join(
        ", ".join(symbol.name for symbol in template.necessary.symbols) for template in requirements.templates
    )


def _why_everything(wishes: Sequence[Wish], store: EventStore, using: Using) -> str | None:
    if using == "replay":
        return "it was asked for"
    if any(wish.ordered for wish in wishes):
        return "indexes know times, and not the columns that order events of one time"
    for wish in wishes:
        if isinstance(wish.plan, IntervalPlan) and len(wishes) == 1:
            reason = why_all_zones(wish.plan, wish.type)
        else:
            reason = why_everything(wish.plan)
        if reason is not None:
            return reason
    blocks = store.blocks
    first, last = (int(blocks.first.min()), int(blocks.last.max())) if blocks.count.size else (0, 0)
    if first < -_FAR or last > _FAR or last - first > _FAR // 2:
        return "some files tell nothing of their times, or times are too far apart to be counted with"
    for wish in wishes:
        length = getattr(wish.plan, "window", None)
        if max(getattr(length, "length", 0), getattr(length, "gap", 0)) // store.kind.step > _FAR // 2:
            return "the window is longer than times can be apart"
    return None


def _join_considered(chosen: Sequence[Chosen]) -> list[Considered]:
    """Ways of several queries together: all by their light indexes, or each as it was chosen. What they read may
    overlap, so the sum is the most that it can cost."""
    roads: list[Considered] = [_sum("light index", [one.light for one in chosen], ())]
    if any(one.asked for one in chosen):
        names = tuple(dict.fromkeys(name for one in chosen for name in one.names))
        roads.append(_sum("secondary indexes", [one.best for one in chosen], names))
    return roads


def _sum(road: Road, costs: Sequence[Cost], names: tuple[str, ...]) -> Considered:
    total = Cost(*(sum(getattr(cost, name) for cost in costs) for name in Cost.__slots__))
    return Considered(road, total, names)
