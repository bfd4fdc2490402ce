"""The cost model of one query over one store: the parts of the stream that its coarse map leaves, and how often the
events of each index occur in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trendweave.store.event_store import EventStore
from trendweave.store.patterns.costs.cost_model import ChainModel, Parts, Weights
from trendweave.store.patterns.intervals.stretches import Stretches
from trendweave.store.patterns.requirements import Requirement, Requirements
from trendweave.store.patterns.rewriting.terms import Term
from trendweave.store.patterns.sections import Section

#: Parts of the stream whose selectivities are known by themselves.
_PARTS = 8
#: Indexes that are considered: those that name the fewest events.
MOST_TERMS = 62


@dataclass(frozen=True, slots=True)
class Asked:
    """A term of a symbol that indexes can be asked for.

    Attributes:
        symbol: Its number.
        term: The term.
        per_file: How many entries it reads in each file.
        missing: The files that have none to read.
    """

    symbol: int
    term: Term
    per_file: np.ndarray
    missing: np.ndarray

    @property
    def entries(self) -> int:
        """How many entries it reads."""
        return int(self.per_file.sum())


def count_entries(requirement: Requirement, store: EventStore) -> list[Asked]:
    """All terms of a query with the entries that they read, those that read the fewest first."""
    counted: dict[Term, tuple[np.ndarray, np.ndarray]] = {}
    asked = []
    for symbol, terms in enumerate(requirement.terms):
        for term in terms:
            if term not in counted:
                counted[term] = _count(store, term)
            asked.append(Asked(symbol, term, *counted[term]))
    return sorted(asked, key=lambda one: one.entries)[:MOST_TERMS]


def _count(store: EventStore, term: Term) -> tuple[np.ndarray, np.ndarray]:
    per_file, missing = np.zeros(len(store.files), np.int64), np.zeros(len(store.files), np.bool_)
    for column, asked in term.alternatives:
        missing |= ~store.has_secondary(column)
        if not asked.is_empty:
            found = store.estimate(column, *(part for ask in asked.asks for part in ask))
            per_file += found.per_file
            missing[list(found.missing)] = True
    return per_file, missing


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
    held = np.bincount(blocks.number, minlength=groups.rows.size)
    nothing = np.empty(0, np.int64)
    began = np.full(groups.rows.size, np.iinfo(np.int64).max)
    ended = np.full(groups.rows.size, np.iinfo(np.int64).min)
    np.minimum.at(began, blocks.number, blocks.first)
    np.maximum.at(ended, blocks.number, blocks.last)
    each = max(1, _PARTS // len(sections))
    sampled = list(enumerate(sections))[:: -(-len(sections) // _PARTS)]
    taken = [
        part
        for number, section in sampled
        for part in np.array_split(section.blocks[_touched(requirement, number, section)], each)
        if part.size
    ]
    numbers = [np.unique(blocks.number[part], return_counts=True) for part in taken]
    # A row group is read once, whichever of its parts ask for it.
    sharing = np.bincount(np.concatenate([nothing, *(own for own, _ in numbers)]), minlength=groups.rows.size)
    rows = []
    for part, (own, inside) in zip(taken, numbers, strict=True):
        weight = 1 / sharing[own]
        lengths = (ended[own] - began[own] + 1) * (inside / held[own])
        covered = Stretches.of(blocks.first[part], blocks.last[part]).length
        taken_bytes, taken_rows = ((kind[own] * weight).sum() for kind in (groups.bytes, groups.rows))
        counted = blocks.count[part].sum()
        rows.append((counted, covered, weight.sum(), lengths.mean(), taken_bytes * shown, taken_rows))
    shares = [_find_shares(one, requirement.possible[one.symbol], store, taken) for one in asked]
    window = float(np.mean([reach.typical for reach in requirements.reaches]))
    events, length, pieces, piece_length, sizes, read = np.array(rows, np.float64).reshape(-1, 6).T
    times = len(sections) / len(sampled)
    parts = Parts(events, length, pieces, piece_length, sizes, read, max(window, 1.0), times)
    bounded = np.zeros((len(requirement.necessary.symbols), 2), np.bool_)
    pace, last = requirements.pace, len(bounded) - 1
    for symbol in range(len(bounded)):
        bounded[symbol, 0] = pace.at_most(requirement.necessary.steps_between(0, symbol)) is not None
        bounded[symbol, 1] = pace.at_most(requirement.necessary.steps_between(symbol, last)) is not None
    bounded[:, 0] &= not requirements.context.back
    bounded[:, 1] &= not requirements.context.ahead
    symbols = np.array([one.symbol for one in asked], np.int64)
    return ChainModel(parts, weights, symbols, np.array(shares).reshape(len(asked), len(rows)), bounded)


def _touched(requirement: Requirement, number: int, section: Section) -> np.ndarray:
    return requirement.maps[number].stretches.touch(section.firsts, section.lasts)


def _find_shares(asked: Asked, possible: np.ndarray, store: EventStore, parts: Sequence[np.ndarray]) -> list[float]:
    """Which share of the events of each part an index names: the entries of a file are spread over those of its blocks
    that may hold them; of files without entries, all events of such blocks are named."""
    blocks = store.blocks
    counts = np.where(possible, blocks.count, 0)
    held = np.maximum(np.bincount(blocks.file, counts, len(store.files)), 1)
    density = np.where(asked.missing, 1.0, np.minimum(1.0, asked.per_file / held))
    named = counts * density[blocks.file]
    return [float(named[part].sum()) / max(1.0, float(blocks.count[part].sum())) for part in parts]
