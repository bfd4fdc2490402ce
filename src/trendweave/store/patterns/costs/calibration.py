"""The weights of the cost model, as they were measured on a machine; kept beside the data."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, replace
from time import process_time

import numpy as np
import pyarrow as pa

from trendweave.expressions.arrow.evaluate import is_true
from trendweave.language.syntax_tree import Attribute, Comparison, Literal
from trendweave.rows.times import as_steps
from trendweave.store.event_store import EventStore
from trendweave.store.layout.places import OWN_FOLDER, Place
from trendweave.store.patterns.costs.cost_model import Weights
from trendweave.store.patterns.index_hits import ask_indexes
from trendweave.store.patterns.intervals.stretches import Stretches
from trendweave.store.patterns.rewriting.ranges import Range
from trendweave.store.patterns.rewriting.terms import Term

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
