"""The cost model of one query over one store: the parts of the stream that its coarse map leaves, and how often the
events of each index occur in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trendweave.store.event_store import EventStore
from trendweave.store.patterns.costs.cost_model import ChainModel, Parts, Weights
from trendweave.store.patterns.requirements import Requirement, Requirements
from trendweave.store.patterns.rewriting.ranges import Range
from trendweave.store.patterns.rewriting.terms import Term
from trendweave.store.patterns.sections import Section

#: Parts of the stream whose selectivities are known by themselves.
_PARTS = 8
#: Indexes that are considered: those that name the fewest events.
MOST_TERMS = 62


@dataclass(frozen=True, slots=True)
class Asked:
    """A term of a symbol that indexes can be asked for, and how many entries they would read."""

    symbol: int
    term: Term
    entries: int


def count_entries(requirement: Requirement, store: EventStore) -> list[Asked]:
    """All terms of a query with the entries that they read, those that read the fewest first."""
    counted: dict[Term, int] = {}
    asked = []
    for symbol, terms in enumerate(requirement.terms):
        for term in terms:
            if term not in counted:
                counted[term] = sum(_count(store, column, one) for column, one in term.alternatives)
            asked.append(Asked(symbol, term, counted[term]))
    return sorted(asked, key=lambda one: one.entries)[:MOST_TERMS]


def _count(store: EventStore, column: str, asked: Range) -> int:
    if asked.is_empty:
        return 0
    return int(store.estimate(column, *(part for ask in asked.asks for part in ask)).entries)


def make_model(
    requirements: Requirements,
    requirement: Requirement,
    asked: Sequence[Asked],
    store: EventStore,
    sections: Sequence[Section],
    shown: float,
    weights: Weights,
) -> ChainModel:
    """The cost model of a query.

    Args:
        requirements: Of the query.
        requirement: Of its template.
        asked: What indexes can be asked.
        store: The events.
        sections: Those of the store.
        shown: Which share of the bytes of events is read: columns that the query does not need are not.
        weights: Seconds.
    """
    blocks, groups = store.blocks, store.groups
    of_group = np.bincount(blocks.number, minlength=groups.rows.size)
    began = np.full(groups.rows.size, np.iinfo(np.int64).max)
    ended = np.full(groups.rows.size, np.iinfo(np.int64).min)
    np.minimum.at(began, blocks.number, blocks.first)
    np.maximum.at(ended, blocks.number, blocks.last)
    rows, shares = [], []
    each = max(1, _PARTS // len(sections))
    sampled = list(enumerate(sections))[:: -(-len(sections) // _PARTS)]
    for number, section in sampled:
        touched = requirement.maps[number].stretches.touch(section.firsts, section.lasts)
        for taken in np.array_split(section.blocks[touched], each):
            if not taken.size:
                continue
            numbers, inside = np.unique(blocks.number[taken], return_counts=True)
            weight = inside / of_group[numbers]
            lengths = (ended[numbers] - began[numbers] + 1).astype(np.float64)
            rows.append(
                (
                    blocks.count[taken].sum(),
                    blocks.last[taken].max() - blocks.first[taken].min() + 1,
                    weight.sum(),
                    lengths.mean(),
                    (groups.bytes[numbers] * weight).sum() * shown,
                )
            )
            shares.append([_share(one, requirement.possible[one.symbol], blocks.count, taken) for one in asked])
    window = float(np.mean([reach.typical for reach in requirements.reaches]))
    events, length, pieces, piece_length, sizes = np.array(rows, np.float64).reshape(-1, 5).T
    times = len(sections) / len(sampled)
    parts = Parts(events, length, pieces, piece_length, sizes, max(window, 1.0), times)
    bounded = np.zeros((len(requirement.necessary.symbols), 2), np.bool_)
    bounded[0, 0] = bounded[-1, 1] = True
    bounded[:, 0] &= not requirements.context.back
    bounded[:, 1] &= not requirements.context.ahead
    symbols = np.array([one.symbol for one in asked], np.int64)
    return ChainModel(parts, weights, symbols, np.array(shares).reshape(len(rows), len(asked)).T, bounded)


def _share(asked: Asked, possible: np.ndarray, counts: np.ndarray, taken: np.ndarray) -> float:
    """Which share of the events of some blocks an index names: its entries are in blocks that may hold them."""
    held = float(counts[possible].sum())
    here = float(counts[taken].sum())
    inside = float(counts[taken][possible[taken]].sum())
    return min(1.0, asked.entries / held * inside / here) if held and here else 0.0
