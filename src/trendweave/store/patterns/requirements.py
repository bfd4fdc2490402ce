"""What a query needs of stored events, before anything is decided: symbols, where they may occur, and what indexes can
be asked for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from trendweave.planning.plan import Plan
from trendweave.store.event_store import EventStore
from trendweave.store.patterns.index_hits import Numbering, find_numbering
from trendweave.store.patterns.intervals import NOWHERE, CoarseMap, Pace, Reach, Stretches, find_reach, make_coarse_map
from trendweave.store.patterns.rewriting import (
    Necessary,
    Term,
    find_condition,
    find_necessary,
    find_possible,
    find_terms,
)
from trendweave.store.patterns.sections import Context, Section


@dataclass(frozen=True, slots=True)
class Requirement:
    """What every trend of one template of a query has.

    Attributes:
        necessary: The symbols.
        possible: Per symbol and block of the store, whether the block may hold such an event.
        terms: Per symbol, what indexes can be asked.
        maps: The coarse map of each section.
    """

    necessary: Necessary
    possible: np.ndarray
    terms: tuple[tuple[Term, ...], ...]
    maps: tuple[CoarseMap, ...]


@dataclass(frozen=True, slots=True)
class Requirements:
    """What a query needs.

    Attributes:
        plan: Its plan.
        context: What is read around its trends.
        reaches: How far apart the events of a trend can be, per section.
        numbering: How events are numbered, where neighbours of a trend stand at fixed distances.
        templates: One, or those of both sides of a conjunction; none where nothing matches.
        readable: Per block, whether it may hold an event that the query reads.
    """

    plan: Plan
    context: Context
    reaches: tuple[Reach, ...]
    numbering: Numbering | None
    templates: tuple[Requirement, ...]
    readable: np.ndarray

    @property
    def pace(self) -> Pace:
        """How far apart neighbours are."""
        return Pace() if self.numbering is None else self.numbering.pace

    def coarse(self, section: int) -> Stretches:
        """Where all trends of a section lie, as far as the light index tells."""
        found = NOWHERE
        for template in self.templates:
            found = found.united(template.maps[section].stretches)
        return found


def find_requirements(plan: Plan, store: EventStore, sections: Sequence[Section], type_: str | None) -> Requirements:
    """What a query needs of a store.

    Args:
        plan: Of trends.
        store: The events.
        sections: Those of the store that have events which are asked for.
        type_: The column that holds the type, if any.
    """
    numbering = find_numbering(plan, store, type_)
    pace = Pace() if numbering is None else numbering.pace
    reaches = tuple(find_reach(plan.window, store.kind, section.firsts, section.lasts) for section in sections)
    is_indexed = cache(lambda name: bool(store.has_secondary(name).any()))
    sides = plan.templates[:2] if plan.is_conjunction else plan.templates
    templates = []
    for template in sides:
        necessary = find_necessary(plan, template, type_)
        if necessary is None:
            continue
        possible = np.array([find_possible(one.condition, store.blocks, store.schema) for one in necessary.symbols])
        terms = tuple(find_terms(one.condition, store.schema, is_indexed) for one in necessary.symbols)
        maps = tuple(
            make_coarse_map(necessary, possible[:, section.blocks], section.firsts, section.lasts, reach, pace)
            for section, reach in zip(sections, reaches, strict=True)
        )
        templates.append(Requirement(necessary, possible, terms, maps))
    readable = _find_readable(plan, store, type_)
    return Requirements(plan, Context.of(plan), reaches, numbering, tuple(templates), readable)


def _find_readable(plan: Plan, store: EventStore, type_: str | None) -> np.ndarray:
    """Blocks that may hold an event which some variable reads, negated ones included; all where every event counts."""
    if plan.needs_every_event:
        return np.ones(store.blocks.count.size, np.bool_)
    conditions = [find_condition(plan, variable.name, type_) for variable in plan.variables]
    return np.logical_or.reduce([find_possible(one, store.blocks, store.schema) for one in conditions])
