"""Trends whose events stand directly behind one another (contiguous), where no two rows of a segment have one time.

A row has one predecessor, the row before it, so a step is a bit: `steps[row]` says which transitions lead from the row
before to this one, conditions and letters included. Nothing is searched and no graph is built. A *range* is a window in
a segment, the rows low:high; a trend that begins at a row ends before its range does.
"""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inlined_late, inner, outer
from trendweave.kernels.listing.folds import COUNT, FIRST, LARGEST, LAST, SUM
from trendweave.kernels.searching import first_not_below
from trendweave.kernels.stopping import heed_stop, is_to_stop

#: States and transitions are told by bits of one word.
MOST = 64
#: Larger than every row: no end can be reached.
NO_END = np.iinfo(np.int32).max
#: Which beginning comes after a trend that was taken: the next row, the one behind its last row, or its first or last
#: row of a variable.
TO_NEXT, PAST_LAST, TO_FIRST, TO_LAST = range(4)


class Automaton(NamedTuple):
    """A template in numbers. `leaving[leaving_starts[s]:leaving_starts[s+1]]` are the transitions from state s."""

    variable: np.ndarray  # int32[q]
    starting: np.ndarray  # int64[.]: states in which trends begin
    is_final: np.ndarray  # bool[q]
    source: np.ndarray  # int64[m]
    target: np.ndarray  # int64[m]
    leaving: np.ndarray  # int64[m]
    leaving_starts: np.ndarray  # int64[q+1]


class NeighbourSteps(NamedTuple):
    """Per row: the transitions that lead to it from the row before, and the states in which a trend begins with it."""

    steps: np.ndarray  # uint64[n]
    begins: np.ndarray  # uint64[n]


class Ranges(NamedTuple):
    """The windows of segments: the rows low:high, which lie in one segment. Trends end at the row `ends_from` at the
    earliest. `until` says per row before which row a trend that begins there has ended; where it is empty, only the
    range does."""

    low: np.ndarray
    high: np.ndarray
    ends_from: np.ndarray
    until: np.ndarray


class Path(NamedTuple):
    """Room for one trend, as long as the longest range."""

    state: np.ndarray  # int32
    cursor: np.ndarray  # int64
    reached: np.ndarray  # uint64


class RunFolds(NamedTuple):
    """What is folded over the events of a trend, as `Folds` has it, or over all of them where `variable` is below 0.
    Values only where some are read: `number` is the line of `whole` or `real`, and of `is_known`."""

    kind: np.ndarray  # int64[f]
    variable: np.ndarray  # int64[f]
    number: np.ndarray  # int64[f]
    is_real: np.ndarray  # bool[f]
    whole: np.ndarray  # int64[., n]
    real: np.ndarray  # float64[., n]
    is_known: np.ndarray  # bool[., n]


class Folding(NamedTuple):
    """Numbers of folds: of a trend that grows, [length, fold], or of trends, [fold, trend]. Only those of its kind are
    written of a fold."""

    count: np.ndarray  # int64
    row: np.ndarray  # int64
    whole: np.ndarray  # int64
    real: np.ndarray  # float64


class FoundRuns(NamedTuple):
    """Buffers for trends: the range and the last row of each, what was folded over it, and its variables, one trend
    after the other; its rows are as many as lead up to the last. Where `starts` is empty, variables are not written."""

    range: np.ndarray  # int64
    last: np.ndarray  # int64
    folded: Folding
    starts: np.ndarray  # int64
    variables: np.ndarray  # int32


class Place(NamedTuple):
    """Where a search stands between two calls: in a range, at a beginning, with so many rows on the path."""

    range: int
    first: int  # -1: the range is new
    begun: int  # beginnings of the first row that were looked at
    depth: int
    arrived: bool  # whether the last row of the path was just reached


BEGINNING = Place(0, -1, 0, 0, False)


def new_path(longest: int) -> Path:
    return Path(np.zeros(longest, np.int32), np.zeros(longest, np.int64), np.zeros(longest, np.uint64))


def new_folding(one: int, other: int) -> Folding:
    shape = one, other
    return Folding(*(np.empty(shape, np.int64) for _ in range(3)), np.empty(shape, np.float64))


@inlined_late
def has(bits, place):
    return (bits >> np.uint64(place)) & np.uint64(1)


@inner
def find_ranges(segment_starts, window_first, window_last, segment, window, low, high):
    """List the windows of each segment that hold rows of it. Returns how many there are; more than fit are counted."""
    found = 0
    for s in range(segment_starts.size - 1):
        start, stop = segment_starts[s], segment_starts[s + 1]
        for row in range(start, stop):
            fresh = window_first[row]
            if row > start:
                fresh = max(fresh, window_last[row - 1] + 1)
            for w in range(fresh, window_last[row] + 1):
                if found < low.size:
                    segment[found], window[found], low[found] = s, w, row
                    high[found] = first_not_below(window_first, row, stop, w + 1)
                found += 1
    return found


@inner
def find_ends(automaton, given, ahead):
    """Per row and state the first row at which a trend can end that has got there, or NO_END."""
    rows, states = ahead.shape
    for row in range(rows - 1, -1, -1):
        for state in range(states):
            ahead[row, state] = row if automaton.is_final[state] else NO_END
        if row + 1 == rows:
            continue
        bits = given.steps[row + 1]
        if bits == 0:
            continue
        for t in range(automaton.source.size):
            if has(bits, t):
                source = automaton.source[t]
                ahead[row, source] = min(ahead[row, source], ahead[row + 1, automaton.target[t]])


@outer
def count_runs(automaton, given, ranges, counts, prune):
    """The number of trends of each range; `ends_from` and `until` play no part. Floats, which are exact below 2^53.

    `prune`: no row is in two ranges, and steps and beginnings that lead to no end are taken out.
    """
    states = automaton.variable.size
    ways, behind = np.zeros(MOST), np.zeros(MOST)
    for r in range(ranges.low.size):
        if is_to_stop():
            break
        total = 0.0
        for row in range(ranges.high[r] - 1, ranges.low[r] - 1, -1):
            for state in range(states):
                behind[state] = ways[state]
                ways[state] = 1.0 if automaton.is_final[state] else 0.0
            if row + 1 < ranges.high[r]:
                bits = given.steps[row + 1]
                if bits:
                    for t in range(automaton.source.size):
                        if has(bits, t):
                            further = behind[automaton.target[t]]
                            ways[automaton.source[t]] += further
                            if further == 0:
                                bits ^= np.uint64(1) << np.uint64(t)
                    if prune:
                        given.steps[row + 1] = bits
            bits = given.begins[row]
            if bits:
                for i in range(automaton.starting.size):
                    state = automaton.starting[i]
                    if has(bits, state):
                        total += ways[state]
                        if ways[state] == 0:
                            bits ^= np.uint64(1) << np.uint64(state)
                if prune:
                    given.begins[row] = bits
        counts[r] = total


@inlined_late
def end_of(ranges, r, row):
    """The row before which a trend of a range has ended that begins at a row."""
    return ranges.high[r] if ranges.until.size == 0 else min(ranges.high[r], ranges.until[row])


@inlined_late
def can_end(ahead, row, state, until):
    """Whether a trend that has got to a row can end before `until`; all can where `ahead` is empty."""
    return ahead.shape[0] == 0 or ahead[row, state] < until


@inlined_late
def write_variables(automaton, path, depth, found, trends, used):
    """Write the variables of a trend, for which there is room."""
    for i in range(depth):
        found.variables[used + i] = automaton.variable[path.state[i]]
    found.starts[trends + 1] = used + depth


@inlined_late
def begin_folds(folds, stack):
    for f in range(folds.kind.size):
        stack.count[0, f], stack.row[0, f] = 0, -1
        stack.whole[0, f], stack.real[0, f] = 0, 0.0


@inlined_late
def grow_folds(folds, stack, before, now, row, variable):
    """The folds of a trend that has grown by a row, which is read as a variable. As `folds.fold` has it."""
    for f in range(folds.kind.size):
        kind, number = folds.kind[f], folds.number[f]
        is_read = folds.variable[f] == variable or folds.variable[f] < 0
        if kind == COUNT:
            stack.count[now, f] = stack.count[before, f] + is_read
        elif kind == FIRST or kind == LAST:
            place = stack.row[before, f]
            stack.row[now, f] = row if is_read and (kind == LAST or place < 0) else place
        else:
            is_read &= folds.is_known[number, row]
            stack.count[now, f] = stack.count[before, f] + is_read
            if kind == LARGEST:
                place = stack.row[before, f]
                if is_read and (place < 0 or folds.whole[number, row] > folds.whole[number, place]):
                    place = row
                stack.row[now, f] = place
            elif folds.is_real[f]:
                total = stack.real[before, f]
                stack.real[now, f] = total + folds.real[number, row] if is_read else total
            else:
                total_whole = stack.whole[before, f]
                stack.whole[now, f] = total_whole + folds.whole[number, row] if is_read else total_whole


@inlined_late
def write_folds(folds, stack, depth, folded, trend):
    for f in range(folds.kind.size):
        kind = folds.kind[f]
        if kind == COUNT or kind == SUM:
            folded.count[f, trend] = stack.count[depth, f]
        if kind == SUM:
            if folds.is_real[f]:
                folded.real[f, trend] = stack.real[depth, f]
            else:
                folded.whole[f, trend] = stack.whole[depth, f]
        elif kind != COUNT:
            folded.row[f, trend] = stack.row[depth, f]


def walk_runs(automaton, given, ahead, ranges, path, folds, stack, found, place) -> tuple[int, Place]:
    """Fill the buffers with all trends, by their first rows. Returns how many, and where the walk stands; 0 means that
    there are no more. A trend is folded as it grows, so its events are only written where buffers have room for them.
    Sums of whole numbers must fit 64 bits."""
    trends, reached = _walk_runs(automaton, given, ahead, ranges, path, folds, stack, found, place)
    return trends, Place(*reached)


@inner
def _walk_runs(automaton, given, ahead, ranges, path, folds, stack, found, place):
    r, first, begun, depth, arrived = place.range, place.first, place.begun, place.depth, place.arrived
    trends, used = 0, 0
    lists_events = found.starts.size > 0
    if lists_events:
        found.starts[0] = 0
    while r < ranges.low.size:
        if first < 0:
            first, begun, depth = ranges.low[r], 0, 0
        high = ranges.high[r]
        while first < high:
            heed_stop()
            if depth == 0:
                if given.begins[first] == 0 or begun == automaton.starting.size:
                    first += 1
                    begun = 0
                    continue
                state = automaton.starting[begun]
                begun += 1
                if has(given.begins[first], state) and can_end(ahead, first, state, end_of(ranges, r, first)):
                    path.state[0], path.cursor[0] = state, automaton.leaving_starts[state]
                    begin_folds(folds, stack)
                    grow_folds(folds, stack, 0, 0, first, automaton.variable[state])
                    depth, arrived = 1, True
                continue
            state = np.int64(path.state[depth - 1])
            if arrived and automaton.is_final[state] and first + depth > ranges.ends_from[r]:
                if trends == found.range.size or (lists_events and used + depth > found.variables.size):
                    return trends, (r, first, begun, depth, True)
                found.range[trends], found.last[trends] = r, first + depth - 1
                if lists_events:
                    write_variables(automaton, path, depth, found, trends, used)
                    used += depth
                write_folds(folds, stack, depth - 1, found.folded, trends)
                trends += 1
            arrived = False
            row = first + depth
            until = end_of(ranges, r, first)
            cursor, stop = path.cursor[depth - 1], automaton.leaving_starts[state + 1]
            if row >= until:
                cursor = stop
            while cursor < stop:
                t = automaton.leaving[cursor]
                cursor += 1
                if has(given.steps[row], t) and can_end(ahead, row, automaton.target[t], until):
                    arrived = True
                    break
            if arrived:
                target = automaton.target[t]
                path.cursor[depth - 1] = cursor
                path.state[depth], path.cursor[depth] = target, automaton.leaving_starts[target]
                grow_folds(folds, stack, depth - 1, depth, row, automaton.variable[target])
                depth += 1
            else:
                depth -= 1
        r += 1
        first = -1
    return trends, (r, first, 0, 0, False)


def take_runs(automaton, given, ahead, ranges, path, found, place, longest, skip, variable) -> tuple[int, Place]:
    """Fill the buffers with one trend per beginning that is left: the one that ends last (or first), and of those the
    one whose variables have the least numbers, from the first on. Where the next beginning may be is said by `skip`,
    and `variable` where that asks for one; `ends_from` plays no part. Returns as `walk_runs` does."""
    trends, reached = _take_runs(automaton, given, ahead, ranges, path, found, place, longest, skip, variable)
    return trends, Place(*reached)


@inner
def _take_runs(automaton, given, ahead, ranges, path, found, place, longest, skip, variable):
    r, first = place.range, place.first
    trends, used = 0, 0
    found.starts[0] = 0
    while r < ranges.low.size:
        if first < 0:
            first = ranges.low[r]
        while first < ranges.high[r]:
            heed_stop()
            depth = _reach(automaton, given, ahead, path.reached, first, end_of(ranges, r, first), longest)
            if depth == 0:
                first += 1
                continue
            if trends == found.range.size or used + depth > found.variables.size:
                return trends, (r, first, 0, 0, False)
            _choose_states(automaton, given, path, first, depth)
            found.range[trends], found.last[trends] = r, first + depth - 1
            write_variables(automaton, path, depth, found, trends, used)
            used += depth
            trends += 1
            first = max(first + 1, _next_beginning(automaton, path, first, depth, skip, variable))
        r += 1
        first = -1
    return trends, (r, first, 0, 0, False)


@inlined_late
def _reach(automaton, given, ahead, reached, first, until, longest):
    """The states that a trend can be in, per row from the first on, as bits. Returns the rows up to the last end, or
    the first one; 0 where there is none."""
    bits = np.uint64(0)
    for i in range(automaton.starting.size):
        state = automaton.starting[i]
        if has(given.begins[first], state) and can_end(ahead, first, state, until):
            bits |= np.uint64(1) << np.uint64(state)
    rows, depth = 0, 0
    while bits:
        reached[rows] = bits
        rows += 1
        for state in range(automaton.variable.size):
            if automaton.is_final[state] and has(bits, state):
                depth = rows
        row = first + rows
        if (depth and not longest) or row >= until:
            break
        following = np.uint64(0)
        for t in range(automaton.source.size):
            taken = has(given.steps[row], t) and has(bits, automaton.source[t])
            if taken and can_end(ahead, row, automaton.target[t], until):
                following |= np.uint64(1) << np.uint64(automaton.target[t])
        bits = following
    return depth


@inlined_late
def _choose_states(automaton, given, path, first, depth):
    """Of the states of each row those that the end can be reached from, and then the path of the least variables."""
    reached = path.reached
    kept = np.uint64(0)
    for state in range(automaton.variable.size):
        if automaton.is_final[state] and has(reached[depth - 1], state):
            kept |= np.uint64(1) << np.uint64(state)
    reached[depth - 1] = kept
    for place in range(depth - 2, -1, -1):
        kept = np.uint64(0)
        for t in range(automaton.source.size):
            if (
                has(given.steps[first + place + 1], t)
                and has(reached[place], automaton.source[t])
                and has(reached[place + 1], automaton.target[t])
            ):
                kept |= np.uint64(1) << np.uint64(automaton.source[t])
        reached[place] = kept
    best = np.int64(-1)
    for state in range(automaton.variable.size):
        if has(reached[0], state) and (best < 0 or automaton.variable[state] < automaton.variable[best]):
            best = state
    path.state[0] = best
    for place in range(1, depth):
        before = best
        best = np.int64(-1)
        for i in range(automaton.leaving_starts[before], automaton.leaving_starts[before + 1]):
            t = automaton.leaving[i]
            state = automaton.target[t]
            if has(given.steps[first + place], t) and has(reached[place], state):
                if best < 0 or automaton.variable[state] < automaton.variable[best]:
                    best = state
        path.state[place] = best


@inlined_late
def _next_beginning(automaton, path, first, depth, skip, variable):
    """The first row at which the next trend may begin, after the path was taken."""
    if skip == PAST_LAST:
        return first + depth
    named = first
    if skip == TO_FIRST or skip == TO_LAST:
        for i in range(depth):
            if automaton.variable[path.state[i]] == variable:
                named = first + i
                if skip == TO_FIRST:
                    break
    return named
