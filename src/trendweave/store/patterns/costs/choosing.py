"""Which secondary indexes a query asks: the choice on the Pareto frontiers that costs least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trendweave.store.event_store import EventStore
from trendweave.store.patterns.access import Cost
from trendweave.store.patterns.costs.cost_model import ChainModel, ChainState, Weights
from trendweave.store.patterns.costs.estimates import Asked, count_entries, make_model
from trendweave.store.patterns.costs.selection import Choices, select_indexes
from trendweave.store.patterns.numbering import find_runs
from trendweave.store.patterns.requirements import Requirements
from trendweave.store.patterns.rewriting.necessary import Necessary
from trendweave.store.patterns.sections import Section

_NOTHING = Cost(0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Chosen:
    """Attributes:
    asked: What indexes are asked; nothing where the light index alone costs less.
    light: What it costs by the light index alone.
    best: What it costs with what is asked.
    examined: How many choices lay on the frontiers.
    """

    asked: tuple[Asked, ...]
    light: Cost
    best: Cost
    examined: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """What is asked, for people."""
        return tuple(str(one.term) for one in self.asked)


def choose_indexes(
    requirements: Requirements, store: EventStore, sections: Sequence[Section], shown: float, weights: Weights
) -> Chosen:
    """The indexes that a query asks.

    Args:
        requirements: What the query needs.
        store: The events.
        sections: Those of the store.
        shown: Which share of bytes is read.
        weights: Seconds.
    """
    costs: list[Cost] = []
    light: list[Cost] = []
    asked: tuple[Asked, ...] = ()
    examined = 0
    for requirement in requirements.templates:
        terms = count_entries(requirement, store) if len(requirements.templates) == 1 else []
        model = make_model(requirements, requirement, terms, store, sections, shown, weights)
        entries = np.array([one.entries for one in terms], np.float64)
        choices = select_indexes(_group_terms(requirements, requirement.necessary, terms), entries, model)
        seconds = choices.primary + weights.of_indexes(choices.secondary, choices.sizes * len(store.files))
        best = int(seconds.argmin())
        bits = int(choices.bits[best])
        asked = tuple(one for number, one in enumerate(terms) if bits >> number & 1)
        examined += choices.bits.size
        costs.append(_cost(model, choices, best, float(seconds[best])))
        none = int(np.flatnonzero(choices.bits == 0)[0])
        light.append(_cost(model, choices, none, float(choices.primary[none])))
    return Chosen(asked, _total(light), _total(costs), examined)


def _group_terms(requirements: Requirements, necessary: Necessary, terms: Sequence[Asked]) -> list[list[int]]:
    """Terms of symbols whose events stand at fixed distances from each other, those that name the fewest events first.
    Where events may be skipped, each symbol is a run of its own."""
    symbols = sorted({one.symbol for one in terms})
    runs = find_runs(necessary, symbols, requirements.numbering)
    return [[number for number, one in enumerate(terms) if one.symbol in run] for run in runs]


def _cost(model: ChainModel, choices: Choices[ChainState], number: int, seconds: float) -> Cost:
    found = model.estimate(model.take(choices.state, np.array([number])))
    parts = (float(found.pieces[0]), float(found.bytes[0]), float(found.events[0]))
    return Cost(*parts, float(choices.secondary[number]), seconds)


def _total(costs: Sequence[Cost]) -> Cost:
    return Cost(*(sum(getattr(cost, name) for cost in costs) for name in Cost.__slots__)) if costs else _NOTHING
