"""Vectors of aggregates: what a vertex carries and how vectors are added up.

A vertex of a block of `lanes` windows carries some numbers per window, component-major: component c of lane i is at
[c * lanes + i]; `lanes` is padded to a multiple of eight. A row touches the lanes [low, high), rounded outwards to
eights; lanes that it is not in hold what adds nothing. All ways of summing over predecessors (running, ranks, scan)
only combine such vectors; what the components mean is decided in `vertices.py` alone."""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inner

# kinds of a pass: numbers are added, the largest is kept, or the latest start is
SUM = 0
EXTREMUM = 1
LATEST_START = 2

NO_TREND = np.iinfo(np.int64).min
NO_VALUE = NO_TREND + 1


class Span(NamedTuple):
    """The part of a vector that is touched: lanes [low, high) of so many lanes, in each of its components. Plain
    numbers, so that handing it on costs what handing on its parts would."""

    low: int
    high: int
    lanes: int
    components: int
    kind: int


@inner
def combine(target, target_at, source, source_at, span):
    """target += source on the span; the larger one for extrema."""
    if span.lanes == 1 and span.components == 1:  # kept small: this much is inlined everywhere
        if span.kind == SUM:
            target[target_at] += source[source_at]
        elif source[source_at] > target[target_at]:
            target[target_at] = source[source_at]
    else:
        combine_long(target, target_at, source, source_at, span)


@inner
def combine_long(target, target_at, source, source_at, span):
    """The same for vectors of several numbers. Unsigned indexes: Numba checks signed ones for being negative."""
    length = span.high - span.low
    pieces = span.components
    if length == span.lanes:  # one contiguous run
        length = span.lanes * span.components
        pieces = 1
    for piece in range(pieces):
        to = np.uint64(target_at + piece * span.lanes + span.low)
        come = np.uint64(source_at + piece * span.lanes + span.low)
        if span.kind == SUM:
            for i in range(np.uint64(length)):
                target[to + i] += source[come + i]
        else:
            for i in range(np.uint64(length)):
                target[to + i] = max(target[to + i], source[come + i])


@inner
def subtract(target, target_at, source, source_at, span):
    """target -= source on the span: exact for integers, limb by limb."""
    for component in range(span.components):
        to = np.uint64(target_at + component * span.lanes + span.low)
        come = np.uint64(source_at + component * span.lanes + span.low)
        for i in range(np.uint64(span.high - span.low)):
            target[to + i] -= source[come + i]


@inner
def pad_lanes(lanes):
    """Lanes are laid out in eights, so that runs of lanes are whole vector registers; one lane stays one."""
    return lanes if lanes == 1 else (lanes + 7) // 8 * 8


@inner
def clear(target, at, length, kind):
    """Fill with what adds nothing."""
    to = np.uint64(at)
    if kind == SUM:
        for i in range(np.uint64(length)):
            target[to + i] = 0
    else:
        for i in range(np.uint64(length)):
            target[to + i] = NO_TREND


@inner
def clear_lanes(target, at, span):
    """The same on the span only."""
    if span.lanes == 1 and span.components == 1:
        target[at] = 0 if span.kind == SUM else NO_TREND
    elif span.high - span.low == span.lanes:
        clear(target, at, span.lanes * span.components, span.kind)
    else:
        for component in range(span.components):
            clear(target, at + component * span.lanes + span.low, span.high - span.low, span.kind)


@inner
def blank_lanes(vector, at, first, end, span):
    """Clear the lanes of the span that the row, which is in lanes [first, end), is not in."""
    if span.low < first:
        clear_lanes(vector, at, Span(span.low, first, span.lanes, span.components, span.kind))
    if end < span.high:
        clear_lanes(vector, at, Span(end, span.high, span.lanes, span.components, span.kind))
