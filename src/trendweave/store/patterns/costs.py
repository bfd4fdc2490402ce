"""What a query costs with some secondary indexes, and which of them are worth asking (thesis, 3.4.3).

Estimates come from the parts of the stream that the coarse map leaves and from how often the events of each index
occur in them; candidates are as long as sums of exponential times. The choice is the cheapest on the Pareto
frontiers of Algorithm 3.2. Weights are measured on a machine and kept beside the data.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from time import process_time
from typing import Generic, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from trendweave.expressions.arrow.evaluate import is_true
from trendweave.language.syntax_tree import Attribute, Comparison, Literal
from trendweave.rows.times import as_steps
from trendweave.store.event_store import EventStore
from trendweave.store.layout.places import OWN_FOLDER, Place
from trendweave.store.patterns.index_hits import ask_indexes, find_runs
from trendweave.store.patterns.intervals import Stretches
from trendweave.store.patterns.requirements import Requirement, Requirements
from trendweave.store.patterns.rewriting import Necessary, Range, Term
from trendweave.store.patterns.sections import Section

#: Points of the contour: about seven digits.
POINTS = 12


def _contour() -> tuple[np.ndarray, np.ndarray]:
    """Points and weights of Talbot's contour for the time 1 (Abate and Valko, 2004)."""
    theta = np.arange(1, POINTS) * np.pi / POINTS
    scale = 2 * POINTS / 5
    cotangent = 1 / np.tan(theta)
    points = np.append(scale + 0j, scale * theta * (cotangent + 1j))
    slopes = 1 + 1j * (theta + (theta * cotangent - 1) * cotangent)
    weights = np.append(0.5 * np.exp(scale), np.exp(points[1:]) * slopes) * scale / POINTS
    return points, weights


_AT, _WEIGHTS = _contour()
_REACHED, _SUMMED = _WEIGHTS / _AT, _WEIGHTS / _AT**2


def factor(rates: np.ndarray) -> np.ndarray:
    """What a run of symbols adds to a product.

    Args:
        rates: How often it occurs per window, on average.

    Returns:
        The factors, with a last axis of points.
    """
    return rates[..., None] / (rates[..., None] + _AT)


def inside_window(products: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many candidates lie inside a window, and how long those are.

    Args:
        products: Of the factors of all runs behind the first; ones where there are none.

    Returns:
        P(X < 1), and E(X | X < 1).
    """
    within = np.clip((products @ _REACHED).real, 0.0, 1.0)
    area = np.clip((products @ _SUMMED).real, 0.0, within)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(within > 1e-12, 1 - area / within, 0.0)
    return within, np.clip(mean, 0.0, 1.0)


State = TypeVar("State")
#: Choices of one frontier that are kept: the few that differ most, where there are more.
_MOST = 12


class Model(Protocol[State]):
    """Estimates what of the data is read. A state tells all about many choices at once that this takes."""

    def nothing(self) -> State:
        """The state of one choice: no index."""

    def of_run(self, chosen: Sequence[int]) -> State:
        """The state of one choice: some indexes of one run of symbols."""

    def join(self, left: State, right: State) -> State:
        """The states of choices in earlier symbols with choices in later ones, pair by pair."""

    def take(self, state: State, rows: np.ndarray) -> State:
        """The states of some choices."""

    def concatenate(self, states: Sequence[State]) -> State:
        """The states of all choices, one after the other."""

    def primary(self, state: State) -> np.ndarray:
        """What of the data is read, per choice."""

    def kinds(self, state: State) -> np.ndarray:
        """A number per choice: only choices of one kind are compared before all symbols are there."""


@dataclass(frozen=True, slots=True)
class Choices(Generic[State]):
    """Many choices: which indexes (a bit each), how many they are, entries that they read, and their states."""

    bits: np.ndarray
    sizes: np.ndarray
    secondary: np.ndarray
    primary: np.ndarray
    state: State


def select_indexes(runs: Sequence[Sequence[int]], entries: np.ndarray, model: Model[State]) -> Choices[State]:
    """All choices on the frontiers, for each number of indexes.

    Args:
        runs: The indexes that can be asked for each run of symbols, by number, those that name the fewest events first.
        entries: How many entries each index reads.
        model: Estimates.

    Returns:
        The choices; the one without an index is among them.
    """
    return _select([run for run in runs if run], entries, model)


def _select(runs: Sequence[Sequence[int]], entries: np.ndarray, model: Model[State]) -> Choices[State]:
    if len(runs) > 1:
        half = len(runs) // 2
        return _join(_select(runs[:half], entries, model), _select(runs[half:], entries, model), model)
    # Of one run, the most selective ones are the best, however many they are.
    run = runs[0] if runs else ()
    states = [model.nothing(), *(model.of_run(run[: size + 1]) for size in range(len(run)))]
    bits = np.array([sum(1 << number for number in run[:size]) for size in range(len(run) + 1)], np.uint64)
    secondary = np.array([entries[list(run[:size])].sum() for size in range(len(run) + 1)], np.float64)
    state = model.concatenate(states)
    return Choices(bits, np.arange(len(run) + 1), secondary, model.primary(state), state)


def _join(left: Choices[State], right: Choices[State], model: Model[State]) -> Choices[State]:
    one = np.repeat(np.arange(left.bits.size), right.bits.size)
    other = np.tile(np.arange(right.bits.size), left.bits.size)
    state = model.join(model.take(left.state, one), model.take(right.state, other))
    sizes = left.sizes[one] + right.sizes[other]
    secondary = left.secondary[one] + right.secondary[other]
    primary = model.primary(state)
    kept = _find_frontiers(sizes, model.kinds(state), primary, secondary)
    bits = left.bits[one[kept]] | right.bits[other[kept]]
    return Choices(bits, sizes[kept], secondary[kept], primary[kept], model.take(state, kept))


def _find_frontiers(sizes: np.ndarray, kinds: np.ndarray, primary: np.ndarray, secondary: np.ndarray) -> np.ndarray:
    """The choices than which no other of the same size and kind reads less of both."""
    group = sizes * (int(kinds.max(initial=0)) + 1) + kinds
    order = np.lexsort((primary, secondary, group))
    kept = []
    for members in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        best = np.minimum.accumulate(np.append(np.inf, primary[members]))[:-1]
        frontier = members[primary[members] < best]
        if not frontier.size:
            frontier = members[:1]
        if frontier.size > _MOST:
            frontier = frontier[np.linspace(0, frontier.size - 1, _MOST).round().astype(np.int64)]
        kept.append(frontier)
    return np.concatenate(kept)


@dataclass(frozen=True, slots=True)
class Cost:
    """Row groups, bytes and events of data that are read, index entries, and seconds of all of it."""

    groups: float
    bytes: float
    events: float
    entries: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Weights:
    """Seconds, as they were measured on one machine.

    Attributes:
        byte: To read a byte of data.
        piece: To begin with a piece of data, that is with a row group.
        event: To compute an event.
        comparison: To compare a value of an event with a constant.
        choosing: To look at an event that is read, whether it lies in a stretch that is asked for.
        entry: To read an entry of an index.
        sorting: To sort an entry, times the logarithm of their number.
        lookup: To ask an index of a file.
    """

    byte: float = 6e-10
    piece: float = 6e-5
    event: float = 4e-8
    comparison: float = 4e-9
    choosing: float = 7e-9
    entry: float = 2.5e-8
    sorting: float = 1e-9
    lookup: float = 1e-4

    def comparing(self, number: int) -> Weights:
        """The same for a query that compares so many values of each event."""
        return replace(self, event=self.event + self.comparison * number)

    def of_data(self, bytes_: np.ndarray, pieces: np.ndarray, events: np.ndarray) -> np.ndarray:
        """Seconds to read and compute (f in Equation 3.1)."""
        return self.byte * bytes_ + self.piece * pieces + self.event * events

    def of_indexes(self, entries: np.ndarray, lookups: np.ndarray) -> np.ndarray:
        """Seconds to ask indexes (g in Equation 3.1)."""
        return self.lookup * lookups + self.entry * entries + self.sorting * entries * np.log2(np.maximum(entries, 2))


@dataclass(frozen=True, slots=True)
class Parts:
    """Parts of the stream that the coarse pattern map leaves, for estimates.

    Attributes:
        events: How many each has.
        length: How many steps of time each takes.
        pieces: How many pieces of data each has that are read whole.
        piece_length: How many steps of time such a piece takes, on average.
        bytes: How many bytes of data each has.
        read: How many events these pieces have.
        window: How many steps a trend can be long.
        times: How often such parts are there in all.
    """

    events: np.ndarray
    length: np.ndarray
    pieces: np.ndarray
    piece_length: np.ndarray
    bytes: np.ndarray
    read: np.ndarray
    window: float
    times: float = 1.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """Of many choices: what of the data is read, and which events of it are computed."""

    bytes: np.ndarray
    pieces: np.ndarray
    read: np.ndarray
    events: np.ndarray


@dataclass(frozen=True, slots=True)
class ChainState:
    """Choices of indexes, all at once.

    Attributes:
        first: The first and the last symbol that is asked for; -1 where none is.
        last: The same of the last symbol.
        first_share: Per part, which share of events begins a first run.
        last_share: The same of a last run.
        products: Per part, the transform of the length of candidates behind the first run.
        sizes: How many runs are asked for.
    """

    first: np.ndarray
    last: np.ndarray
    first_share: np.ndarray
    last_share: np.ndarray
    products: np.ndarray
    sizes: np.ndarray


@dataclass(frozen=True, slots=True)
class ChainModel:
    """The cost model of a sequence of symbols, for `select_indexes`.

    Attributes:
        parts: What is known of the stream.
        weights: Seconds.
        symbols: The symbol of each index that can be asked.
        shares: Per index and part, which share of events it names.
        bounded: Per symbol, whether it tells where trends begin, and whether it tells where they end.
    """

    parts: Parts
    weights: Weights
    symbols: np.ndarray
    shares: np.ndarray
    bounded: np.ndarray

    def nothing(self) -> ChainState:
        ones = np.ones((1, self.parts.events.size))
        nowhere = np.full(1, -1)
        return ChainState(nowhere, nowhere, ones, ones, np.ones((*ones.shape, POINTS), complex), np.zeros(1, np.int64))

    def of_run(self, chosen: Sequence[int]) -> ChainState:
        share = self.shares[list(chosen)].prod(axis=0)[None]
        symbols = self.symbols[list(chosen)]
        products = np.ones((*share.shape, POINTS), complex)
        first, last = np.array([symbols.min()]), np.array([symbols.max()])
        return ChainState(first, last, share, share, products, np.ones(1, np.int64))

    def join(self, left: ChainState, right: ChainState) -> ChainState:
        no_left, no_right = left.first < 0, right.first < 0
        between = factor(self._per_window(right.first_share))
        between[no_left | no_right] = 1
        return ChainState(
            np.where(no_left, right.first, left.first),
            np.where(no_right, left.last, right.last),
            np.where(no_left[:, None], right.first_share, left.first_share),
            np.where(no_right[:, None], left.last_share, right.last_share),
            left.products * between * right.products,
            left.sizes + right.sizes,
        )

    def take(self, state: ChainState, rows: np.ndarray) -> ChainState:
        return ChainState(*(getattr(state, name)[rows] for name in ChainState.__slots__))

    def concatenate(self, states: Sequence[ChainState]) -> ChainState:
        return ChainState(
            *(np.concatenate([getattr(state, name) for state in states]) for name in ChainState.__slots__)
        )

    def kinds(self, state: ChainState) -> np.ndarray:
        begins = (state.first >= 0) & self.bounded[state.first, 0]
        ends = (state.last >= 0) & self.bounded[state.last, 1]
        return begins * 2 + ends

    def primary(self, state: ChainState) -> np.ndarray:
        found = self.estimate(state)
        data = self.weights.of_data(found.bytes, found.pieces, found.events)
        return data + self.weights.choosing * found.read

    def estimate(self, state: ChainState) -> Estimate:
        """What is read of the data, and computed, per choice (Equations 3.5 to 3.7)."""
        parts = self.parts
        within, mean = inside_window(state.products)
        candidates = parts.events * state.first_share * within
        extent = self._extent(state, mean) * parts.window
        touched = _cover(extent + parts.piece_length, parts.length, candidates)
        inside = _cover(extent, parts.length, candidates)
        nothing = state.first < 0
        touched[nothing], inside[nothing] = 1, 1
        totals = (touched @ parts.bytes, touched @ parts.pieces, touched @ parts.read, inside @ parts.events)
        return Estimate(*(parts.times * total for total in totals))

    def _extent(self, state: ChainState, mean: np.ndarray) -> np.ndarray:
        """How long a replay interval is, in windows: the base case, or S1 to S3."""
        begins = ((state.first >= 0) & self.bounded[state.first, 0])[:, None]
        ends = ((state.last >= 0) & self.bounded[state.last, 1])[:, None]
        # From the first symbol to the last one that still lies in its window.
        rate = np.maximum(self._per_window(state.last_share), 1e-12)
        waiting = -np.expm1(-rate * (1 - mean)) / rate
        to_last = np.where(state.sizes[:, None] > 1, np.maximum(mean, 1 - waiting), 0.0)
        ahead = np.where(ends, to_last, 1.0)
        return np.where(begins, ahead, ahead + 1 - mean)

    def _per_window(self, share: np.ndarray) -> np.ndarray:
        parts = self.parts
        rates: np.ndarray = share * parts.events * (parts.window / np.maximum(parts.length, 1))
        return rates


def _cover(extent: np.ndarray, length: np.ndarray, number: np.ndarray) -> np.ndarray:
    """Which share of a length is covered by so many intervals of an extent that lie anywhere (Cardenas)."""
    free = np.clip(1 - extent / np.maximum(length, 1), 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.exp(number * np.log(free))
    return 1 - np.where(number <= 0, 1.0, left)


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


_FILE = f"{OWN_FOLDER}/weights.json"
#: Rows that are read to measure, and fewer than that tell nothing.
_ROWS, _FEW = 1_000_000, 100_000
_TIMES = 3


def load_weights(place: Place) -> Weights:
    """What was measured here; else what was measured on some machine."""
    try:
        read = json.loads(place.read(_FILE))
        found = replace(Weights(), **{name: float(value) for name, value in read.items()})
    except (OSError, ValueError, TypeError, AttributeError):
        return Weights()
    return found if all(math.isfinite(one) and one > 0 for one in asdict(found).values()) else Weights()


def save_weights(place: Place, weights: Weights) -> None:
    """Keep what was measured beside the data."""
    place.write(_FILE, json.dumps(asdict(weights)).encode())


def measure_weights(store: EventStore) -> Weights:
    """Read row groups of a store, look for times in them, compare values and ask an index. What cannot be measured, as
    the store is small or has no index, is as usual.

    Args:
        store: Its own files are read, so that what they are encoded in counts.
    """
    groups, usual = store.groups, Weights()
    numbers = np.flatnonzero(np.cumsum(groups.rows) <= _ROWS)
    rows = int(groups.rows[numbers].sum())
    if rows < _FEW or numbers.size < 2:
        return usual
    names = list(store.schema.names)
    whole = _seconds(lambda: store.read(numbers, names))
    apart = _seconds(lambda: [store.read(numbers[place : place + 1], names) for place in range(numbers.size)])
    found = replace(
        usual,
        byte=max(1e-11, whole / float(groups.bytes[numbers].sum())),
        piece=max(1e-6, (apart - whole) / numbers.size),
    )
    events = store.read(numbers, names)
    times = as_steps(events.column(store.time).drop_null(), store.kind)
    some = np.unique(times[:: max(1, rows // 2000)])
    stretches = Stretches.of(some, some)
    choosing = _seconds(lambda: events.filter(pa.array(np.resize(stretches.hold(times), rows)))) / rows
    numeric = [field.name for field in store.schema if _is_number(field.type)]
    if numeric:
        condition = Comparison(">", Attribute((numeric[0],)), Literal(0))
        found = replace(found, comparison=max(1e-10, _seconds(lambda: is_true(condition, events)) / rows * 2))
    indexed = [name for name in numeric if store.has_secondary(name).all()]
    if indexed:
        term = Term(((indexed[0], Range(low=0)),))
        entries = ask_indexes(store, [term]).entries
        if entries >= _FEW:
            found = replace(
                found, entry=max(1e-10, _seconds(lambda: np.sort(ask_indexes(store, [term]).times)) / entries)
            )
    return replace(found, choosing=max(1e-10, choosing))


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_floating(kind) or pa.types.is_signed_integer(kind)


def _seconds(work: Callable[[], object]) -> float:
    """The quickest of some calls, in seconds of the processor."""
    work()
    found = []
    for _ in range(_TIMES):
        began = process_time()
        work()
        found.append(process_time() - began)
    return min(found)
