"""The loop for merged templates: bursts of rows as matrices (HAMLET, Sections 3 and 4).

States of several queries that read events of one type, and follow themselves in the same ways, are a *class*: its
vectors have a lane per query and window, and all that a row does, it does to all lanes that read it. A class's rows
wait until windows move, or until a row of a class is read that follows it, or that it follows: a burst. Within a burst
what comes in from other classes is constant, HAMLET's snapshot, with a value per lane; so what a burst adds to the
registers of its class is a small matrix,

    count   += A * count_before   + B * count_outside
    measure += A * measure_before + B * measure_outside + C * count_before + D * count_outside

It is computed once from all rows and applied to all lanes, or made of the rows of each time and applied after these,
whichever costs less (Definition 4.2, with our costs): both are known when the burst ends. Rows that some lanes do not
read begin a matrix of those that do.

Exact numbers have a bound per class that no number exceeds. Where it gets too large, numbers are looked at, or carried
between limbs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from textwrap import dedent, indent

from trendweave.kernels.loops.text import write_loop
from trendweave.kernels.loops.vectors import Numbers

LIMB_BITS = 28
#: Kinds of sharing, as the loop is told.
NEVER, ALWAYS, AUTO = range(3)
#: Which bundles of lanes read the rows of an entry.
NOBODY, EVERYBODY, DIFFERS = 0, 1, -1

# Nanoseconds, roughly: of a matrix for several times (to begin, and per row), and of applying one (to begin, and per
# number). What matters is their proportion: see the benchmark `sharing-decisions`.
_COSTS = {"BEGIN": 15.0, "ROW_SHARED": 2.0, "APPLY_COST": 25.0, "NUMBER": 0.3}
#: Rows after which a matrix is applied: entries that double with each row stay below 2**29.
_ROWS_PER_MATRIX = 29


@dataclass(frozen=True)
class BurstShape:
    """What the text depends on: numbers, whether a lane has several of them, and whether rows empty registers."""

    numbers: Numbers
    several: bool
    blocked: bool


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
def clear_vector(v, at, length):
    to = index(at)
    for i in range(index(length)):
        v[to + i] = ZERO


@called  #: blocked
def sum_returns(v, total, scratch, in_register, first_return, returns, parts, step):  #: blocked
    """What the registers have that lead back into the state, all together."""  #: blocked
    for part in range(parts):  #: blocked
        clear_vector(v, scratch + part * step, step)  #: blocked
        for j in range(first_return, first_return + returns):  #: blocked
            add_vector(v, scratch + part * step, total + (in_register[j] * parts + part) * step, step)  #: blocked


@called  #: sums
def add_multiple(v, at, factor, come_at, length):  #: sums
    """What is not there is not multiplied: infinity times nothing is nothing."""  #: several
    to, come = index(at), index(come_at)  #: sums
    if factor - factor != 0:  #: several
        for i in range(index(length)):  #: several
            v[to + i] += factor * v[come + i] if v[come + i] != 0 else ZERO  #: several
    elif factor != 0:  #: several
        for i in range(index(length)):  #: several
            v[to + i] += factor * v[come + i]  #: several
    for i in range(index(length)):  #: sums !several
        v[to + i] += factor * v[come + i]  #: sums !several


@called  #: sums
def add_both(v, at, before, come_at, begun, outside_at, length):  #: sums
    """Two multiples at once. Factors are numbers of ways: neither is 0, or infinite."""  #: sums
    to, come, outside = index(at), index(come_at), index(outside_at)  #: sums
    for i in range(index(length)):  #: sums
        v[to + i] += before * v[come + i] + begun * v[outside + i]  #: sums


@called  #: largest
def raise_to(v, at, come_at, outside_at, best, length):  #: largest
    to, come, outside = index(at), index(come_at), index(outside_at)  #: largest
    for i in range(index(length)):  #: largest
        x = max(v[come + i], v[outside + i])  #: largest
        if x != ZERO:  #: largest
            v[to + i] = max(v[to + i], x, best)  #: largest
'''

_APPLY = '''
@called
def apply_matrix(
    v, bounds, factors, before, begun, c, classes, total, outside, scratch, held, registers, returns, in_register,
    first_return, parts, lanes, room, limbs, lo, hi,
):
    """A matrix times all lanes from lo to before hi. Gives the number of limbs: more than there is room for where
    numbers do not fit."""
    step = room * lanes
    others = 2 * (classes + c)  #: checked
    for attempt in range(2):  #: checked
        come_count, come_sum = returns * bounds[2 * c], returns * bounds[2 * c + 1]  #: checked
        if held:  #: checked blocked
            come_count, come_sum = bounds[4 * classes], bounds[4 * classes + 1]  #: checked blocked
        counts = bounds[2 * c] + float(before) * come_count + float(begun) * bounds[others]  #: checked
        sums = bounds[2 * c + 1] + float(before) * come_sum + float(begun) * bounds[others + 1]  #: checked
        most = 0.0  #: checked
        for k in range(parts - 1):  #: checked several
            added = abs(float(factors[2 * k])) * come_count  #: checked several
            most = max(most, added + abs(float(factors[2 * k + 1])) * bounds[others])  #: checked several
        if max(counts, sums + most) <= MOST:  #: checked
            bounds[2 * c] = counts  #: checked
            bounds[2 * c + 1] = sums + most  #: checked
            break  #: checked
        if attempt == 1:  #: checked
            return room + 1  #: checked
        limbs = tighten(v, total, registers, parts, lanes, room, limbs, bounds, 2 * c)  #: checked
        limbs = max(limbs, tighten(v, outside, 1, parts, lanes, room, limbs, bounds, others))  #: checked
        if held:  #: checked blocked
            more = tighten(v, scratch, 1, parts, lanes, room, limbs, bounds, 4 * classes)  #: checked blocked
            limbs = max(limbs, more)  #: checked blocked
        if limbs > room:  #: checked
            return limbs  #: checked
    if returns > 1 and not held:  #: blocked
        sum_returns(v, total, scratch, in_register, first_return, returns, parts, step)  #: blocked
        held = True  #: blocked
    last = in_register[first_return] if returns > 0 else 0
    pieces, length, start = LIMBS, hi - lo, lo
    if length == lanes:  #: limbs
        pieces, length, start = 1, limbs * lanes, 0  #: limbs
    for piece in range(pieces):
        # The register that is read is written last, and counts are written after what is measured.
        for part in range(parts - 1, -1, -1):
            here = part * step + piece * lanes + start
            out = outside + here
            come = total + last * parts * step + here
            if held:  #: blocked
                come = scratch + here  #: blocked
            for k in range(last + 1, last + 1 + registers):
                to = total + (k if k < registers else k - registers) * parts * step + here
                if returns > 0:  #: sums
                    add_both(v, to, before, come, begun, out, length)  #: sums
                else:  #: sums
                    add_multiple(v, to, begun, out, length)  #: sums
                if part > 0:  #: several
                    if returns > 0:  #: several
                        add_multiple(v, to, factors[2 * part - 2], come - part * step, length)  #: several
                    add_multiple(v, to, factors[2 * part - 1], out - part * step, length)  #: several
                raise_to(v, to, come if returns > 0 else out, out, factors[part], length)  #: largest
    return limbs
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
                    if entry_bits[e] != EVERYBODY or entry_empties[e] != 0:
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
        come = total + final_lane[final] + slot
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
for part in range(parts):
    clear_vector(v, outside + part * step, clear * lanes)
for j in range(start_from[c], start_from[c + 1]):
    kind = start_kind[j]
    to = outside + start_lane[j]
    for window in range(open_first[kind], open_last[kind] + 1):
        v[to + window % slots[kind]] += ONE  #: sums
        for part in range(parts):  #: largest
            x = v[to + part * step + window % slots[kind]]  #: largest
            v[to + part * step + window % slots[kind]] = max(x, NO_VALUE)  #: largest
for j in range(in_outside_from[c], in_outside_from[c + 1]):
    source = outside_source[j]
    source_step = room * lanes_of[source]
    come = total_at[source] * unit + outside_register[j] * parts * source_step + outside_source_lane[j]
    to = outside + outside_lane[j]
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
returns = in_from[c + 1] - in_from[c]
step = room * lanes
total = total_at[c] * unit
outside = outside_at[c] * unit
scratch = scratch_at * unit
limbs = 1  #: !limbs
rows_left = waiting[c]
node = head[c]
shared_here = False
while rows_left > 0 and not bad:
    # Rows that the same lanes read and that empty nothing; else the rows of one time.
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
            if entry_empties[other] != 0:  #: blocked
                alike = False  #: blocked
            if other != entry and (entry_bits[entry] != EVERYBODY or entry_bits[other] != EVERYBODY):
                alike = False
            in_tick += 1
            probe = node_next[probe]
        if not alike and rows > 0:
            break
        rows += in_tick
        node = probe
        if not alike:
            mixed = True
            break
    rows_left -= rows
    empties = 0
    if mixed:  #: blocked
        probe = begin  #: blocked
        for _ in range(rows):  #: blocked
            empties |= entry_empties[node_entry[probe]]  #: blocked
            probe = node_next[probe]  #: blocked
    if empties != 0:  #: blocked
        sum_returns(v, total, scratch, in_register, in_from[c], returns, parts, step)  #: blocked
        bounds[4 * classes] = returns * bounds[2 * c]  #: checked blocked
        bounds[4 * classes + 1] = returns * bounds[2 * c + 1]  #: checked blocked
        for r in range(registers):  #: blocked
            if empties >> r & 1 != 0:  #: blocked
                clear_vector(v, total + r * parts * step, parts * step)  #: blocked
    bundle = bundle_from[c]
    while bundle < bundle_from[c + 1] and not bad:
        example = bundle
        own = bundle - bundle_from[c]
        bundle += 1
        if not mixed:
            accepted = entry_accept[entry] - bundle_from[c]
            differs = entry_bits[entry] == DIFFERS
            while bundle < bundle_from[c + 1] and bundle_group[bundle] == bundle_group[example]:
                if differs and accept[accepted + bundle] != accept[accepted + example]:
                    break
                bundle += 1
            if differs and accept[accepted + example] == 0:
                continue
        lo = bundle_first[example]
        hi = bundle_end[bundle - 1]
        limbs = limbs_of[c]  #: limbs
        share = sharing != NEVER and hi - lo > 1 and not mixed
        if share and sharing == AUTO:
            apply_cost = APPLY_COST + NUMBER * float((hi - lo) * limbs * registers * (2 * parts - 1))
            flushes = 1 + rows // ROWS_PER_MATRIX  #: checked
            flushes = 1  #: !checked
            share = BEGIN + rows * ROW_SHARED + flushes * apply_cost < rows * apply_cost
        TAKE
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

_TAKE = """
fresh = True
back = 1 if returns > 0 else 0
before, begun = ZERO, ZERO
grown, measured, times, amounts = 0.0, 0.0, 0.0, 0.0
turn = begin
left = rows
hits = 0
largest = 0.0
while (left > 0 or hits > 0) and not bad:
    if hits == 0:
        # the rows of one time
        now = tick[node_row[turn]]
        largest = 0.0  #: several
        for k in range(columns):  #: measured
            added[k] = ZERO  #: measured
        while left > 0 and tick[node_row[turn]] == now:
            bits = entry_bits[node_entry[turn]]
            if mixed and bits == DIFFERS:
                bits = accept[entry_accept[node_entry[turn]] + own]
            if bits != NOBODY:
                hits += 1
                for k in range(columns):  #: measured
                    if marks[k * bundles + example] != 0:  #: measured
                        value = values[k * n + node_row[turn]]  #: measured
                        added[k] += value  #: several
                        magnitude = abs(float(value))  #: several
                        largest = magnitude if not magnitude <= largest else largest  #: several
                        added[k] = max(added[k], value)  #: largest
            turn = node_next[turn]
            left -= 1
    if fresh:
        before, begun = ZERO, ZERO
        for k in range(len(factors)):  #: measured
            factors[k] = ZERO  #: measured
        grown, measured = 0.0, 0.0
    times = hits * (1.0 + returns * grown)  #: sums
    amounts = measured + hits * returns * measured + hits * largest * (1.0 + returns * grown)  #: several
    fits_in = max(grown + times, amounts) <= LIMIT
    if hits > 0 and (fresh or fits_in):
        bad = bad or not fits_in  #: checked
        grown += times  #: sums
        measured = amounts  #: several
        for k in range(columns):  #: several
            factors[2 * k] += hits * returns * factors[2 * k] + added[k] * (back + returns * before)  #: several
            factors[2 * k + 1] += hits * returns * factors[2 * k + 1] + added[k] * (1 + returns * begun)  #: several
        before += hits * (back + returns * before)  #: sums
        begun += hits * (1 + returns * begun)  #: sums
        for k in range(columns):  #: largest
            factors[k] = max(factors[k], added[k])  #: largest
        hits = 0
        fresh = False
    if not fresh and (hits > 0 or left == 0 or not share):
        APPLY
        fresh = True
"""

_APPLY_HERE = """
limbs = apply_matrix(
    v, bounds, factors, before, begun, c, classes, total, outside, scratch, empties != 0, registers, returns,
    in_register, in_from[c], parts, lanes, room, limbs, lo, hi
)
bad = bad or limbs > room  #: checked
limbs = min(limbs, room)  #: checked
limbs_of[c] = limbs  #: limbs
outside_limbs[c] = max(outside_limbs[c], limbs_of[c])  #: limbs
"""

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
    flags |= {"several": shape.several and sums, "measured": shape.several or not sums, "blocked": shape.blocked}
    floats = numbers is Numbers.FLOAT64
    words: dict[str, object] = {
        **_COSTS, **_COUNTS, "ROWS_PER_MATRIX": _ROWS_PER_MATRIX,
        "LIMIT": {Numbers.INT64: 2.0**59, Numbers.LIMBS: 2.0**29}.get(numbers, 2.0**900),
        "ZERO": ("0.0" if floats else "0") if sums else "(-(2**63))", "ONE": "1.0" if floats else "1",
        "SETTLED": 1 << LIMB_BITS, "SETTLED_BOUND": 2.0**LIMB_BITS, "LIMB_BITS": LIMB_BITS, "MOST": 2.0**61,
        "TWICE_MOST": 2.0**62, "NOBODY": NOBODY, "EVERYBODY": EVERYBODY, "DIFFERS": DIFFERS, "NEVER": NEVER,
        "AUTO": AUTO, "LIMBS": "limbs" if limbs else "1", "LIMBS_OF_SOURCE": "limbs_of[source]" if limbs else "1",
        "NO_VALUE": "(1 - 2**63)",
    }  # fmt: skip
    take = _fill(_TAKE, {"APPLY": _APPLY_HERE})
    parts = {"EVALUATE": _fill(_EVALUATE, {"TAKE": take}), "CLOSE": _CLOSE, "GATHER": _GATHER}
    called = [*([_TIGHTEN if limbs else _LOOK] if checked else []), _VECTORS, _APPLY]

    def write(part: str) -> str:
        return _NAME.sub(lambda found: str(words.get(found[0], found[0])), _select(part.strip("\n"), flags))

    return write_loop("bursts", write(dedent(_fill(_SEGMENTS, parts))) + "\n", *map(write, called))


def _fill(text: str, blocks: dict[str, str]) -> str:
    """Put blocks in the place of lines that are their names."""
    lines = list[str]()
    for line in text.strip("\n").split("\n"):
        name = line.strip()
        lines.append(indent(blocks[name].strip("\n"), " " * (len(line) - len(name))) if name in blocks else line)
    return "\n".join(line for line in lines if line.strip())


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
