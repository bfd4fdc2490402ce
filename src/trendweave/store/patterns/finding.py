"""The stretches of time that are read for a query: its coarse map, narrowed by what indexes name (Algorithm 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from trendweave.store.event_store import EventStore
from trendweave.store.patterns.costs.estimates import Asked
from trendweave.store.patterns.index_hits import Named, ask_indexes
from trendweave.store.patterns.intervals.chains import Occurrences, find_candidates
from trendweave.store.patterns.intervals.replay_intervals import find_intervals
from trendweave.store.patterns.intervals.stretches import Stretches
from trendweave.store.patterns.requirements import Requirement, Requirements
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
    symbols: Sequence[int],
    named: Sequence[Named],
    store: EventStore,
    section: Section,
    number: int,
    coarse: Stretches,
) -> Stretches:
    """The replay intervals of candidates in a section."""
    necessary, pace, reach = requirement.necessary, requirements.pace, requirements.reaches[number]
    occurrences = []
    for symbol, one in zip(symbols, named, strict=True):
        times = one.times[section.files[one.files]]
        found = Occurrences.at(times[coarse.places(times) >= 0])
        # Files that no index knows: their blocks are all that is known.
        blank = one.missing[store.blocks.file[section.blocks]] & requirement.maps[number].possible[symbol]
        occurrences.append(found.and_those(Occurrences.within(section.firsts[blank], section.lasts[blank])))
    gaps = [necessary.steps_between(*pair).least * pace.least for pair in pairwise(symbols)]
    before = necessary.steps_between(0, symbols[0])
    after = necessary.steps_between(symbols[-1], len(necessary.symbols) - 1)
    around = (before.least * pace.least, after.least * pace.least)
    candidates = find_candidates(occurrences, gaps, reach, around)
    return find_intervals(candidates, before, after, reach, pace).common(coarse)
