"""The stretches of time that are read for a query: its coarse map, narrowed by what indexes name (Algorithm 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from trendweave.store.event_store import EventStore
from trendweave.store.patterns.costs.estimates import Asked
from trendweave.store.patterns.index_hits import Named, ask_indexes
from trendweave.store.patterns.intervals.chains import Occurrences, find_candidates
from trendweave.store.patterns.intervals.replay_intervals import find_intervals
from trendweave.store.patterns.intervals.stretches import Stretches
from trendweave.store.patterns.numbering import Numbering, find_runs
from trendweave.store.patterns.requirements import Requirement, Requirements
from trendweave.store.patterns.rewriting.necessary import Necessary
from trendweave.store.patterns.sections import Section


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
