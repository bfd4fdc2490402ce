"""The loop for merged templates: bursts of rows as matrices (HAMLET, Sections 3 and 4).

States that several queries have alike are a *class*: its vectors have a lane per query and window, and all that a row
does, it does to all lanes that read it. A class's rows wait until windows move, or until a row of a class is read that
follows it, or that it follows: a burst. Within a burst what comes in from other classes is constant, HAMLET's snapshot,
with a value per lane; so a burst is a matrix over the class's registers,

    count[r]   = sum over w of A[r, w] * count_in[w]
    measure[r] = sum over w of A[r, w] * measure_in[w] + D[r, w] * count_in[w]

where w runs over the registers before and the snapshot's positions. It is computed once and applied to all lanes, or
its rows are added lane by lane, whichever costs less (Definition 4.2, with our costs): both are known when the burst
ends. Rows that some lanes do not read begin a matrix of those that do.

Exact numbers have a bound per class that no number exceeds. Where it gets too large, numbers are looked at, or carried
between limbs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from trendweave.kernels.loops.text import write_signature
from trendweave.kernels.loops.vectors import Numbers

LIMB_BITS = 28
#: Kinds of sharing, as the loop is told.
NEVER, ALWAYS, AUTO = range(3)
#: An entry whose bundles of lanes read a row differently.
DIFFERS = -1

# Nanoseconds, measured on one core with 10 and 50 queries and bursts of 1 to 400 rows: of a matrix (to begin, per row,
# to apply: per entry and number), and of rows that are added lane by lane (per row, per vector, per number).
_COSTS = {
    "BEGIN": 180.0, "ROW_SHARED": 20.0, "ENTRY_PER_ROW": 3.0, "APPLY": 20.0, "ENTRY": 3.0, "NUMBER_APPLIED": 0.2,
    "ROW_ALONE": 40.0, "VECTOR": 3.0, "NUMBER": 0.3,
    "PLAIN_BEGIN": 70.0, "PLAIN_ROW_SHARED": 2.0, "PLAIN_NUMBER_APPLIED": 0.4, "PLAIN_ROW_ALONE": 4.5,
    "PLAIN_NUMBER": 0.1,
}  # fmt: skip
#: Rows after which a matrix is applied: entries that double with each row stay below 2**32.
_ROWS_PER_MATRIX = 30


@dataclass(frozen=True)
class BurstShape:
    """What the text depends on: numbers, whether a lane has several of them, and what classes there are.

    A plain class is a single state that only counts: its matrix is two numbers.
    """

    numbers: Numbers
    several: bool
    has_plain: bool
    has_others: bool


_TIGHTEN = '''
@loop
def tighten(v, at, blocks, parts, lanes, room, limbs, bounds, bound):
    """Carry between limbs: at most `room` of them, or one more where these do not do."""
    most = limbs
    for block in range(blocks * parts):
        begin = at + block * room * lanes
        limb = 0
        while True:
            large = False
            for i in range(lanes):
                large = large or abs(v[begin + limb * lanes + i]) >= SETTLED
            if limb + 1 >= limbs and not large:
                break
            if limb + 1 == room:
                return room + 1
            for i in range(lanes):
                number = v[begin + limb * lanes + i]
                v[begin + limb * lanes + i] = number & (SETTLED - 1)
                v[begin + (limb + 1) * lanes + i] += number >> LIMB_BITS
            limb += 1
        most = max(most, limb + 1)
    bounds[bound] = SETTLED_BOUND
    bounds[bound + 1] = SETTLED_BOUND
    return most
'''

_LOOK = '''
@loop
def tighten(v, at, blocks, parts, lanes, room, limbs, bounds, bound):
    """Look at numbers: the largest count, and the largest measure."""
    bounds[bound] = 0.0
    bounds[bound + 1] = 0.0
    for block in range(blocks * parts):
        high = 0
        low = 0
        for i in range(lanes):
            high = max(high, v[at + block * lanes + i])
            low = min(low, v[at + block * lanes + i])
        here = bound if block % parts == 0 else bound + 1
        bounds[here] = max(bounds[here], float(high), -float(low))
    return 1
'''

_VECTORS = '''
@called
def add_vector(v, at, come_at, length):
    to, come = index(at), index(come_at)
    for i in range(index(length)):
        v[to + i] += v[come + i]  #: sums
        v[to + i] = max(v[to + i], v[come + i])  #: largest


@called
def copy_vector(v, at, come_at, length):
    to, come = index(at), index(come_at)
    for i in range(index(length)):
        v[to + i] = v[come + i]


@called
def clear_vector(v, at, length):
    to = index(at)
    for i in range(index(length)):
        v[to + i] = ZERO


@called  #: sums
def add_multiple(v, at, factor, come_at, length):  #: sums
    """What is not there is not multiplied: infinity times nothing is nothing."""  #: sums
    to, come = index(at), index(come_at)  #: sums
    if factor - factor == 0:  #: sums
        for i in range(index(length)):  #: sums
            v[to + i] += factor * v[come + i]  #: sums
    else:  #: sums
        for i in range(index(length)):  #: sums
            v[to + i] += factor * v[come + i] if v[come + i] != 0 else ZERO  #: sums
'''

_PLAIN_VECTORS = '''
@called
def add_row(v, hits, most_in, at, come_at, length):
    """Rows of one time, all lanes of a plain class."""
    to, come = index(at), index(come_at)
    if most_in == 1 and hits == 1:
        for i in range(index(length)):
            v[to + i] += v[to + i] + v[come + i]
    else:
        for i in range(index(length)):
            v[to + i] += hits * (most_in * v[to + i] + v[come + i])


@called
def apply_plain(v, before, begun, at, come_at, length):
    """A matrix of two numbers times the lanes of a plain class."""
    to, come = index(at), index(come_at)
    for i in range(index(length)):
        v[to + i] = before * v[to + i] + begun * v[come + i]
'''

_APPLY = '''
@loop
def apply_matrix(v, f, total, outside, scratch, registers, positions, parts, lanes, room, limbs, lo, hi):
    """A matrix times all lanes from lo to before hi."""
    width = registers + positions
    step = room * lanes
    pieces, length, start = limbs, hi - lo, lo
    if length == lanes:
        pieces, length, start = 1, limbs * lanes, 0
    for piece in range(pieces):
        offset = piece * lanes + start
        for part in range(parts):
            for r in range(registers):
                to = scratch + (r * parts + part) * step + offset
                clear_vector(v, to, length)
                for w in range(width):
                    base = total + w * parts * step + offset
                    if w >= registers:
                        base = outside + (w - registers) * parts * step + offset
                    come = base + part * step
                    a = f[r * width + w]  #: sums
                    if a != 0:  #: sums
                        add_multiple(v, to, a, come, length)  #: sums
                    if part > 0:  #: sums several
                        d = f[(part * registers + r) * width + w]  #: sums several
                        come = base  #: sums several
                        if d != 0:  #: sums several
                            add_multiple(v, to, d, come, length)  #: sums several
                    a = f[(part * registers + r) * width + w]  #: largest
                    if a != ZERO:  #: largest
                        for i in range(index(length)):  #: largest
                            if v[come + i] != ZERO:  #: largest
                                v[to + i] = max(v[to + i], v[come + i], a)  #: largest
        for block in range(parts * registers):
            to = total + block * step + offset
            come = scratch + block * step + offset
            copy_vector(v, to, come, length)
'''

_BOUND = '''
@loop
def bound_matrix(f, registers, positions, parts, bounds, c, classes):
    """The bounds of a class after a matrix is applied; they are the last two, and the larger one is returned."""
    width = registers + positions
    counts, measures = 0.0, 0.0
    for part in range(parts):
        for r in range(registers):
            count, measure = 0.0, 0.0
            for w in range(width):
                come = 2 * c if w < registers else 2 * (classes + c)
                a = abs(float(f[r * width + w]))
                count += a * bounds[come]
                if part > 0:  #: several
                    measure += a * bounds[come + 1]  #: several
                    measure += abs(float(f[(part * registers + r) * width + w])) * bounds[come]  #: several
            counts, measures = max(counts, count), max(measures, measure)
    bounds[4 * classes] = counts
    bounds[4 * classes + 1] = measures
    return max(counts, measures)
'''

# The parts of the loop. Lines with a mark are those of some shapes only.
_SEGMENTS = """
    n = len(tick)
    classes = len(waiting)
    bundles = len(bundle_first)
    moved = 0
    used = 0
    for s in range(len(row_start)):
        heed_stop()
        row = row_start[s]
        end = row_end[s]
        bad = False
        touched = 0
        for k in range(5):  #: checked
            counts_before[k] = counts_of_sharing[k]  #: checked
        for kind in range(kinds):
            open_first[kind] = window_first[kind * n + row] if row < end else 0
            open_last[kind] = open_first[kind] - 1
            closed[kind] = 0
        while True:
            # What waits is computed where windows move, and where it is read, or what it reads changes.
            moves = row == row_start[s] or row == end or border[row] != 0
            work = moves
            todo = 0
            after = row
            if row < end:
                after = row + 1
                while after < end and tick[after] == tick[row]:
                    after += 1
            if not moves:
                for i in range(row, after):
                    for e in range(entry_from[pattern[i]], entry_from[pattern[i] + 1]):
                        c = entry_class[e]
                        if stale[c] != 0 or gathered[c] != moved:
                            work = True
                            if waiting[c] > 0 and queued[c] == 0:
                                queued[c] = 1
                                queue[todo] = c
                                todo += 1
                            for j in range(source_from[c], source_from[c + 1]):
                                source = source_class[j]
                                if waiting[source] > 0 and queued[source] == 0:
                                    queued[source] = 1
                                    queue[todo] = source
                                    todo += 1
            emptied = moves or used + (after - row) * most_entries > len(node_row)
            if emptied:
                for j in range(touched):
                    c = touched_list[j]
                    if waiting[c] > 0 and queued[c] == 0:
                        queued[c] = 1
                        queue[todo] = c
                        todo += 1
            for number in range(todo):
                c = queue[number]
                queued[c] = 0
                EVALUATE
            if emptied:
                used = 0
            if moves:
                for kind in range(kinds):
                    first = open_last[kind] + 1
                    if row < end:
                        first = window_first[kind * n + row]
                    for window in range(open_first[kind], min(first, open_last[kind] + 1)):
                        slot = window % slots[kind]
                        for j in range(touched):
                            c = touched_list[j]
                            CLOSE
                        closed[kind] += 1
                    if row < end:
                        open_first[kind] = first
                        open_last[kind] = max(open_last[kind], window_last[kind * n + row])
                moved += 1
            if row == end or bad:
                break
            if work:
                for i in range(row, after):
                    for e in range(entry_from[pattern[i]], entry_from[pattern[i] + 1]):
                        c = entry_class[e]
                        if stale[c] != 0 or gathered[c] != moved:
                            stale[c] = 0
                            gathered[c] = moved
                            GATHER
            for i in range(row, after):
                for e in range(entry_from[pattern[i]], entry_from[pattern[i] + 1]):
                    c = entry_class[e]
                    if waiting[c] == 0:
                        head[c] = used
                        for j in range(target_from[c], target_from[c + 1]):
                            stale[target_class[j]] = 1
                        if is_touched[c] == 0:
                            is_touched[c] = 1
                            touched_list[touched] = c
                            touched += 1
                    else:
                        node_next[tail[c]] = used
                    if entry_bits[e] == DIFFERS:
                        differing[c] = 1
                    tail[c] = used
                    node_row[used] = i
                    node_entry[used] = e
                    waiting[c] += 1
                    used += 1
            row = after
        for j in range(touched):
            c = touched_list[j]
            is_touched[c] = 0
            waiting[c] = 0
            differing[c] = 0
            last_shared[c] = -1
            bounds[2 * c] = 0.0  #: checked
            bounds[2 * c + 1] = 0.0  #: checked
            limbs_of[c] = 1  #: limbs
        used = 0
        moved += 1
        if bad:  #: checked
            fits[s] = False  #: checked
            for k in range(5):  #: checked
                counts_of_sharing[k] = counts_before[k]  #: checked
            for i in range(len(v)):  #: checked
                v[i] = ZERO  #: checked
            for i in range(len(fp)):  #: checked
                fp[i] = ZERO  #: checked
            for c in range(classes):  #: limbs
                outside_limbs[c] = 1  #: limbs
"""

_CLOSE = """
lanes = lanes_of[c]
step = room * lanes
total = total_at[c] * unit
limbs = 1  #: !limbs
if bounds[2 * c] > SETTLED_BOUND or bounds[2 * c + 1] > SETTLED_BOUND:  #: limbs
    limbs_of[c] = tighten(v, total, registers_of[c], parts, lanes, room, limbs_of[c], bounds, 2 * c)  #: limbs
    if limbs_of[c] > room:  #: limbs
        bad = True  #: limbs
        limbs_of[c] = room  #: limbs
limbs = limbs_of[c]  #: limbs
for final in range(final_from[c], final_from[c + 1]):
    if final_kind[final] == kind:
        to = (base[s * kinds + kind] + closed[kind] * queries_of[kind] + final_slot[final]) * unit
        come = total + final_position[final] * parts * step + final_lane[final] + slot
        for part in range(parts):
            for limb in range(limbs):
                x = v[come + part * step + limb * lanes]
                r = to + part * room + limb
                bad = bad or abs(float(results[r]) + float(x)) > TWICE_MOST  #: int64
                results[r] += x  #: sums
                results[r] = max(results[r], x)  #: largest
for member in range(member_from[c], member_from[c + 1]):
    if member_kind[member] == kind:
        for block in range(registers_of[c] * parts):
            for limb in range(limbs):
                v[total + block * step + limb * lanes + member_lane[member] + slot] = ZERO
"""

_GATHER = """
lanes = lanes_of[c]
step = room * lanes
outside = outside_at[c] * unit
limbs = 1
o = 2 * (classes + c)  #: checked
for attempt in range(2):  #: checked
    counts = 1.0 if start_from[c] < start_from[c + 1] else 0.0  #: checked
    measures = 0.0  #: checked
    for j in range(source_from[c], source_from[c + 1]):  #: checked
        source = source_class[j]  #: checked
        counts += source_count[j] * bounds[2 * source]  #: checked
        measures += source_count[j] * bounds[2 * source + 1]  #: checked
    bounds[o] = counts  #: checked
    bounds[o + 1] = measures  #: checked
    if max(counts, measures) <= MOST:  #: checked
        break  #: checked
    if attempt == 1:  #: checked
        bad = True  #: checked
        break  #: checked
    for j in range(source_from[c], source_from[c + 1]):  #: checked
        source = source_class[j]  #: checked
        of_source = LIMBS_OF_SOURCE  #: checked
        come = total_at[source] * unit  #: checked
        of_source = tighten(  #: checked
            v, come, registers_of[source], parts, lanes_of[source], room, of_source, bounds, 2 * source  #: checked
        )  #: checked
        bad = bad or of_source > room  #: limbs
        limbs_of[source] = min(of_source, room)  #: limbs
for j in range(source_from[c], source_from[c + 1]):  #: limbs
    limbs = max(limbs, limbs_of[source_class[j]])  #: limbs
clear = limbs  #: !limbs
clear = max(limbs, outside_limbs[c])  #: limbs
for block in range(positions_of[c] * parts):
    clear_vector(v, outside + block * step, clear * lanes)
for j in range(start_from[c], start_from[c + 1]):
    kind = start_kind[j]
    to = outside + start_position[j] * parts * step + start_lane[j]
    for window in range(open_first[kind], open_last[kind] + 1):
        v[to + window % slots[kind]] += ONE  #: sums
        for part in range(parts):  #: largest
            x = v[to + part * step + window % slots[kind]]  #: largest
            v[to + part * step + window % slots[kind]] = max(x, NO_VALUE)  #: largest
for j in range(in_outside_from[c], in_outside_from[c + 1]):
    source = outside_source[j]
    source_step = room * lanes_of[source]
    come = total_at[source] * unit + outside_register[j] * parts * source_step + outside_source_lane[j]
    to = outside + outside_position[j] * parts * step + outside_lane[j]
    for part in range(parts):
        for limb in range(LIMBS_OF_SOURCE):
            to_limb = to + part * step + limb * lanes
            come_limb = come + part * source_step + limb * lanes_of[source]
            add_vector(v, to_limb, come_limb, slots[outside_kind[j]])
outside_limbs[c] = limbs  #: limbs
limbs_of[c] = max(limbs_of[c], limbs)  #: limbs
"""

_EVALUATE = """
lanes = lanes_of[c]
registers = registers_of[c]
positions = positions_of[c]
width = registers + positions
step = room * lanes
total = total_at[c] * unit
outside = outside_at[c] * unit
pending = pending_at * unit
scratch = scratch_at * unit
most_in = most_in_of[c]
limbs = 1  #: !limbs
rows_left = waiting[c]
node = head[c]
shared_here = False
while rows_left > 0 and not bad:
    # Rows that the same lanes read: all of them, or those of one entry; else the rows of one time.
    begin = node
    rows = 0
    mixed = False
    entry = node_entry[node]
    if differing[c] == 0:
        rows = rows_left
    while rows < rows_left:
        probe = node
        in_tick = 0
        alike = True
        while rows + in_tick < rows_left and tick[node_row[probe]] == tick[node_row[node]]:
            other = node_entry[probe]
            if other != entry and (entry_bits[entry] == DIFFERS or entry_bits[other] == DIFFERS):
                alike = False
            in_tick += 1
            probe = node_next[probe]
        if not alike:
            if rows == 0:
                mixed = True
                rows = in_tick
                node = probe
            break
        rows += in_tick
        node = probe
    rows_left -= rows
    differs = mixed or entry_bits[entry] == DIFFERS
    bundle = bundle_from[c]
    while bundle < bundle_from[c + 1] and not bad:
        example = bundle
        own = bundle - bundle_from[c]
        bundle += 1
        if not mixed:
            accepted = entry_accept[entry] - bundle_from[c]
            while bundle < bundle_from[c + 1] and bundle_group[bundle] == bundle_group[example]:
                if differs and accept[accepted + bundle] != accept[accepted + example]:
                    break
                bundle += 1
            if differs and accept[accepted + example] == 0 and entry_empties[entry] == 0:
                continue
        lo = bundle_first[example]
        hi = bundle_end[bundle - 1]
        limbs = limbs_of[c]  #: limbs
        share = sharing != NEVER and hi - lo > 1 and registers <= MOST_SHARED and not mixed
        turn = begin
        left = rows
        PLAIN
        OTHERS
        if share:
            shared_here = True
            counts_of_sharing[SNAPSHOTS] += 1
waiting[c] = 0
differing[c] = 0
if lanes > 1:
    counts_of_sharing[BURSTS_SHARED if shared_here else BURSTS_ALONE] += 1
    if last_shared[c] == 1 and not shared_here:
        counts_of_sharing[SPLITS] += 1
    if last_shared[c] == 0 and shared_here:
        counts_of_sharing[MERGES] += 1
    last_shared[c] = 1 if shared_here else 0
"""

_DECIDE_PLAIN = """
if share and sharing == AUTO:
    size = float((hi - lo) * limbs)
    flushes = 1 + rows // ROWS_PER_MATRIX  #: checked
    flushes = 1  #: !checked
    shared_cost = PLAIN_BEGIN + rows * PLAIN_ROW_SHARED + flushes * PLAIN_NUMBER_APPLIED * size
    share = shared_cost < rows * (PLAIN_ROW_ALONE + PLAIN_NUMBER * size)
before = ONE
begun = ZERO
grown = 1.0
while left > 0 and not bad:
    # the rows of one time
    hits = 0
    now = tick[node_row[turn]]
    while left > 0 and tick[node_row[turn]] == now:
        if not mixed:
            hits += 1
        else:
            bits = entry_bits[node_entry[turn]]
            hits += accept[entry_accept[node_entry[turn]] + own] if bits == DIFFERS else bits
        turn = node_next[turn]
        left -= 1
    if share:
        larger = grown + hits * (1.0 + most_in * grown)
        if larger > LIMIT:
            APPLY
            before = ONE
            begun = ZERO
            larger = 1.0 + hits * (1.0 + most_in)
            bad = bad or larger > LIMIT  #: checked
        begun += hits * (ONE + most_in * begun)
        before += hits * most_in * before
        grown = larger
        continue
    for attempt in range(2):  #: checked
        counts = bounds[2 * c] + hits * (bounds[2 * (classes + c)] + most_in * bounds[2 * c])  #: checked
        if counts <= MOST:  #: checked
            break  #: checked
        bad = bad or attempt == 1  #: checked
        TIGHTEN
    bounds[2 * c] = counts  #: checked
    pieces, length, start = LIMBS, hi - lo, lo
    if length == lanes:  #: limbs
        pieces, length, start = 1, limbs * lanes, 0  #: limbs
    for piece in range(pieces):
        add_row(v, hits, most_in, total + piece * lanes + start, outside + piece * lanes + start, length)
if share:
    APPLY
"""

_APPLY_PLAIN_HERE = """
for attempt in range(2):  #: checked
    counts = float(before) * bounds[2 * c] + float(begun) * bounds[2 * (classes + c)]  #: checked
    if counts <= TWICE_MOST:  #: checked
        break  #: checked
    bad = bad or attempt == 1  #: checked
    TIGHTEN
bounds[2 * c] = max(bounds[2 * c], counts)  #: checked
pieces, length, start = LIMBS, hi - lo, lo
if length == lanes:  #: limbs
    pieces, length, start = 1, limbs * lanes, 0  #: limbs
for piece in range(pieces):
    apply_plain(v, before, begun, total + piece * lanes + start, outside + piece * lanes + start, length)
"""

_TIGHTEN_HERE = """
if attempt == 0:  #: checked
    limb = tighten(v, total, registers, parts, lanes, room, limbs, bounds, 2 * c)  #: checked
    bad = bad or limb > room  #: limbs
    limbs = max(limbs, min(limb, room))  #: limbs
    limb = tighten(v, outside, positions, parts, lanes, room, limbs, bounds, 2 * (classes + c))  #: checked
    bad = bad or limb > room  #: limbs
    limbs = max(limbs, min(limb, room))  #: limbs
    outside_limbs[c] = limbs  #: limbs
    limbs_of[c] = limbs  #: limbs
"""

_OTHERS = """
if share and sharing == AUTO:
    size = float((hi - lo) * limbs)
    factors = registers * width * (2 * parts - 1)
    flushes = 1 + rows // ROWS_PER_MATRIX  #: checked
    flushes = 1  #: !checked
    shared_cost = BEGIN + rows * (ROW_SHARED + ENTRY_PER_ROW * factors)
    shared_cost += flushes * (APPLY + factors * (ENTRY + NUMBER_APPLIED * size))
    vectors = (2 * parts - 1) * (1.0 + registers / positions) / 2.0
    share = shared_cost < rows * (ROW_ALONE + vectors * (VECTOR + NUMBER * size))
fresh = True
counted = 1.0
measured = 0.0
while left > 0 and not bad:
    # the rows of one time
    now = tick[node_row[turn]]
    probe = turn
    in_tick = 0
    largest = 0.0
    while left > 0 and tick[node_row[probe]] == now:
        for k in range(parts - 1):  #: sums several
            magnitude = abs(float(values[k * n + node_row[probe]]))  #: sums several
            largest = magnitude if not magnitude <= largest else largest  #: sums several
        in_tick += 1
        left -= 1
        probe = node_next[probe]
    as_matrix = share
    if share:
        counts = counted + in_tick * (1.0 + most_in * counted)
        measures = measured + in_tick * (most_in * measured + largest * (1.0 + most_in * counted))
        if not (counts <= LIMIT / width and measures <= LIMIT / width):
            if not fresh:
                APPLY
                fresh = True
            counted = 1.0
            measured = 0.0
            counts = 1.0 + in_tick * (1.0 + most_in)
            measures = in_tick * largest * (1.0 + most_in)
            as_matrix = counts <= LIMIT / width and measures <= LIMIT / width
        if as_matrix:
            if fresh:
                for i in range(parts * registers * width):
                    f[i] = ZERO
                for r in range(registers):
                    f[r * width + r] = ONE  #: sums
                    for part in range(parts):  #: largest
                        f[(part * registers + r) * width + r] = NO_VALUE  #: largest
                fresh = False
            counted = counts
            measured = measures
    waiting_counts = 0.0  #: checked
    waiting_measures = 0.0  #: checked
    empties = 0
    at_once = False
    for _ in range(in_tick):
        i = node_row[turn]
        e = node_entry[turn]
        turn = node_next[turn]
        bits = entry_bits[e]
        if bits == DIFFERS:
            bits = accept[entry_accept[e] + own]
        empties |= entry_empties[e]
        at_once = in_tick == 1 and bits & (bits - 1) == 0 and empties == 0
        for position in range(positions):
            if bits >> position & 1 == 0:
                continue
            place = position_from[c] + position
            if as_matrix:
                STEP
            else:
                ADD
    if as_matrix:
        INSERT_INTO_MATRIX
    else:
        INSERT
if share and not fresh:
    APPLY
"""

_STEP = """
for w in range(width):
    count = ZERO
    for part in range(parts):
        at = part * registers * width + w
        brought = ZERO
        if w == registers + position and part == 0:  #: sums
            brought = ONE  #: sums
        if w == registers + position:  #: largest
            brought = NO_VALUE  #: largest
        for j in range(in_from[place], in_from[place + 1]):
            brought += f[at + in_register[j] * width]  #: sums
            brought = max(brought, f[at + in_register[j] * width])  #: largest
        if part == 0:  #: sums
            count = brought  #: sums
        elif marks[(part - 1) * bundles + example] >> position & 1 != 0 and count != 0:  #: sums several
            brought += values[(part - 1) * n + i] * count  #: sums several
        if marks[part * bundles + example] >> position & 1 != 0 and brought != ZERO:  #: largest
            brought = max(brought, values[part * n + i])  #: largest
        to = (position * parts + part) * width + w
        fp[to] += brought  #: sums
        fp[to] = max(fp[to], brought)  #: largest
"""

_INSERT_INTO_MATRIX = """
for r in range(registers):
    if empties >> r & 1 != 0:
        for part in range(parts):
            for w in range(width):
                f[(part * registers + r) * width + w] = ZERO
for position in range(positions):
    place = position_from[c] + position
    for part in range(parts):
        come = (position * parts + part) * width
        for j in range(out_from[place], out_from[place + 1]):
            to = (part * registers + out_register[j]) * width
            for w in range(width):
                f[to + w] += fp[come + w]  #: sums
                f[to + w] = max(f[to + w], fp[come + w])  #: largest
        for w in range(width):
            fp[come + w] = ZERO
"""

_ADD = """
for attempt in range(3):  #: checked
    counts = bounds[2 * (classes + c)] + most_in * bounds[2 * c]  #: checked
    measures = bounds[2 * (classes + c) + 1] + most_in * bounds[2 * c + 1] + largest * counts  #: checked
    if max(waiting_counts + counts, waiting_measures + measures) <= HALF_MOST:  #: checked
        break  #: checked
    bad = bad or attempt == 2  #: checked
    TIGHTEN
    if attempt == 1:  #: checked
        SETTLE_WAITING
waiting_counts += counts  #: checked
waiting_measures += measures  #: checked
pieces, length, start = LIMBS, hi - lo, lo
if length == lanes:  #: limbs
    pieces, length, start = 1, limbs * lanes, 0  #: limbs
for piece in range(pieces):
    offset = piece * lanes + start
    for part in range(parts):
        to = scratch + part * step + offset
        come = outside + (position * parts + part) * step + offset
        copy_vector(v, to, come, length)
        for j in range(in_from[place], in_from[place + 1]):
            come = total + (in_register[j] * parts + part) * step + offset
            add_vector(v, to, come, length)
        if part > 0 and marks[(part - 1) * bundles + example] >> position & 1 != 0:  #: sums several
            value = values[(part - 1) * n + i]  #: sums several
            come = scratch + offset  #: sums several
            if value != 0:  #: sums several
                add_multiple(v, to, value, come, length)  #: sums several
        if marks[part * bundles + example] >> position & 1 != 0:  #: largest
            for k in range(index(length)):  #: largest
                if v[to + k] != ZERO:  #: largest
                    v[to + k] = max(v[to + k], values[part * n + i])  #: largest
    for part in range(parts):
        come = scratch + part * step + offset
        if not at_once:
            to = pending + (position * parts + part) * step + offset
            add_vector(v, to, come, length)
            continue
        for j in range(out_from[place], out_from[place + 1]):
            to = total + (out_register[j] * parts + part) * step + offset
            add_vector(v, to, come, length)
"""

_SETTLE_WAITING = """
limb = tighten(v, pending, positions, parts, lanes, room, limbs, bounds, 4 * classes)  #: checked
bad = bad or limb > room  #: limbs
limbs = max(limbs, min(limb, room))  #: limbs
limbs_of[c] = limbs  #: limbs
waiting_counts = bounds[4 * classes]  #: checked
waiting_measures = bounds[4 * classes + 1]  #: checked
"""

_INSERT = """
for attempt in range(2):  #: checked
    counts = bounds[2 * c] + waiting_counts  #: checked
    measures = bounds[2 * c + 1] + waiting_measures  #: checked
    if max(counts, measures) <= MOST:  #: checked
        break  #: checked
    bad = bad or attempt == 1  #: checked
    TIGHTEN
    if attempt == 0 and not at_once:  #: checked
        SETTLE_WAITING
bounds[2 * c] = counts  #: checked
bounds[2 * c + 1] = measures  #: checked
for r in range(registers):
    if empties >> r & 1 != 0:
        for part in range(parts):
            for limb in range(limbs):
                to = total + (r * parts + part) * step + limb * lanes
                clear_vector(v, to + lo, hi - lo)
if not at_once:
    for position in range(positions):
        place = position_from[c] + position
        for part in range(parts):
            for limb in range(limbs):
                come = pending + (position * parts + part) * step + limb * lanes + lo
                for j in range(out_from[place], out_from[place + 1]):
                    to = total + (out_register[j] * parts + part) * step + limb * lanes + lo
                    add_vector(v, to, come, hi - lo)
                clear_vector(v, come, hi - lo)
"""

_APPLY_HERE = """
for attempt in range(2):  #: checked
    if bound_matrix(f, registers, positions, parts, bounds, c, classes) <= TWICE_MOST:  #: checked
        break  #: checked
    bad = bad or attempt == 1  #: checked
    TIGHTEN
bounds[2 * c] = max(bounds[2 * c], bounds[4 * classes])  #: checked
bounds[2 * c + 1] = max(bounds[2 * c + 1], bounds[4 * classes + 1])  #: checked
apply_matrix(v, f, total, outside, scratch, registers, positions, parts, lanes, room, limbs, lo, hi)
"""

#: What the loop takes: rows, tables of the template, tables of what rows mean, memory, results.
_ROWS = ("row_start", "row_end", "tick", "border", "window_first", "window_last", "pattern", "values")
_TABLES = (
    "lanes_of", "positions_of", "registers_of", "most_in_of", "total_at", "outside_at", "position_from", "in_from",
    "in_register", "out_from", "out_register", "bundle_from", "bundle_first", "bundle_end", "bundle_group", "marks",
    "member_from", "member_lane", "member_kind", "start_from", "start_position", "start_lane", "start_kind",
    "in_outside_from", "outside_position", "outside_lane", "outside_source", "outside_register",
    "outside_source_lane", "outside_kind", "source_from", "source_class", "source_count", "target_from",
    "target_class", "final_from", "final_kind", "final_slot", "final_position", "final_lane", "slots", "queries_of",
)  # fmt: skip
_MEANING = ("entry_from", "entry_class", "entry_bits", "entry_accept", "entry_empties", "accept", "most_entries")
_SCRATCH = (
    "kinds", "parts", "room", "unit", "pending_at", "scratch_at", "sharing", "v", "f", "fp", "waiting", "differing",
    "queued", "queue", "head", "tail", "stale", "gathered", "is_touched", "touched_list", "last_shared", "node_row",
    "node_entry", "node_next", "open_first", "open_last", "closed", "base", "results", "counts_of_sharing",
)  # fmt: skip
_CHECKED, _OF_LIMBS = ("bounds", "fits", "counts_before"), ("limbs_of", "outside_limbs")
#: Results of `counts_of_sharing`, in the order of `SharingCounts`.
_COUNTS = {"BURSTS_SHARED": 0, "BURSTS_ALONE": 1, "SNAPSHOTS": 2, "SPLITS": 3, "MERGES": 4}
_MARK = re.compile(r"  #: ([a-z0-9! ]+)$")
_NAME = re.compile(r"\b[A-Z][A-Z_]+\b")


@lru_cache(maxsize=64)
def write_bursts(shape: BurstShape) -> tuple[str, tuple[str, ...]]:
    """The text of `bursts`, and the names of what it takes."""
    numbers, limbs = shape.numbers, shape.numbers is Numbers.LIMBS
    checked = numbers in (Numbers.INT64, Numbers.LIMBS)
    sums = numbers is not Numbers.LARGEST
    flags = {"sums": sums, "largest": not sums, "checked": checked, "limbs": limbs, "int64": numbers is Numbers.INT64}
    flags["several"] = shape.several
    limit = {Numbers.INT64: 2.0**59, Numbers.LIMBS: 2.0**31}.get(numbers, 2.0**900)
    floats = numbers is Numbers.FLOAT64
    words: dict[str, object] = {
        **_COSTS, **_COUNTS, "ROWS_PER_MATRIX": _ROWS_PER_MATRIX, "LIMIT": limit,
        "ZERO": ("0.0" if floats else "0") if sums else "(-(2**63))", "ONE": "1.0" if floats else "1",
        "SETTLED": 1 << LIMB_BITS, "SETTLED_BOUND": 2.0**LIMB_BITS, "LIMB_BITS": LIMB_BITS, "MOST": 2.0**61,
        "TWICE_MOST": 2.0**62, "HALF_MOST": 2.0**60, "DIFFERS": DIFFERS, "NEVER": NEVER, "AUTO": AUTO, "MOST_SHARED": 8,
        "LIMBS": "limbs" if limbs else "1", "LIMBS_OF_SOURCE": "limbs_of[source]" if limbs else "1",
        "NO_VALUE": "(1 - 2**63)",
    }  # fmt: skip
    blocks = {"TIGHTEN": _TIGHTEN_HERE, "SETTLE_WAITING": _SETTLE_WAITING}
    plain = _fill(_DECIDE_PLAIN, blocks | {"APPLY": _fill(_APPLY_PLAIN_HERE, blocks)})
    blocks["ADD"] = _fill(_ADD, blocks)
    blocks |= {"STEP": _STEP, "INSERT_INTO_MATRIX": _INSERT_INTO_MATRIX, "INSERT": _fill(_INSERT, blocks)}
    others = _fill(_OTHERS, blocks | {"APPLY": _fill(_APPLY_HERE, blocks)})
    if shape.has_plain and shape.has_others:
        plain = "if width == 2:\n" + _indent(plain, 4)
        others = "else:\n" + _indent(others, 4)
    units = {"PLAIN": plain if shape.has_plain else "", "OTHERS": others if shape.has_others else ""}
    parts = {"EVALUATE": _fill(_EVALUATE, units), "CLOSE": _CLOSE, "GATHER": _GATHER}
    takes = (*_ROWS, *_TABLES, *_MEANING, *_SCRATCH, *(_CHECKED if checked else ()), *(_OF_LIMBS if limbs else ()))
    called = [_TIGHTEN if limbs else _LOOK] if checked else []
    called += [_VECTORS, *([_PLAIN_VECTORS] if shape.has_plain else [])]
    called += [_APPLY, *([_BOUND] if checked else [])] if shape.has_others else []
    loop = "@loop\n" + write_signature("bursts", takes) + _fill(_SEGMENTS, parts).strip("\n") + "\n"
    text = "\n\n".join([one.strip("\n") + "\n" for one in called] + [loop])
    return _NAME.sub(lambda found: str(words.get(found[0], found[0])), _select(text, flags)), takes


def _fill(text: str, blocks: dict[str, str]) -> str:
    """Put blocks in the place of lines that are their names."""
    lines = list[str]()
    for line in text.strip("\n").split("\n"):
        name = line.strip()
        lines.append(_indent(blocks[name], len(line) - len(name)) if name in blocks else line)
    return "\n".join(line for line in lines if line.strip())


def _indent(text: str, by: int) -> str:
    return "\n".join(" " * by + line for line in text.strip("\n").split("\n") if line.strip())


def _select(text: str, flags: dict[str, bool]) -> str:
    """The lines whose marks hold, without them."""
    lines = list[str]()
    for line in text.split("\n"):
        mark = _MARK.search(line)
        if mark is None:
            lines.append(line)
        elif all(flags[one.lstrip("!")] != one.startswith("!") for one in mark[1].split()):
            lines.append(line[: mark.start()])
    return "\n".join(lines)
