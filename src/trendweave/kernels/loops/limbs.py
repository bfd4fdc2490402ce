"""Vertices whose numbers have limbs: signed digits of so many bits, which take a further limb in all vectors at once
when one number asks for it."""

from __future__ import annotations

from trendweave.kernels.inputs import Way
from trendweave.kernels.loops.plan import StoreKind
from trendweave.kernels.loops.vectors import lanes_of
from trendweave.kernels.loops.vertices import Vertices

CARRY = '''
@called
def carry(vector, at, low, high, step, limbs, bits):
    """Carry between the limbs of one number per lane, `step` apart; not 0 if the highest limb is too large."""
    mask = (1 << bits) - 1
    here = at
    for limb in range(limbs - 1):
        for i in range(here + low, here + high):
            x = vector[i]
            vector[i + step] += x >> bits
            vector[i] = x & mask
        here += step
    seen = 0
    for i in range(here + low, here + high):
        seen |= vector[i] ^ (vector[i] >> 63)
    return seen >> (bits - 1)
'''
CARRY_IN_PACKS = '''
@called
def carry(vector, at, low, high, step, limbs, bits):
    """Carry between the limbs of one number per lane, `step` apart; not 0 if the highest limb is too large."""
    mask = (1 << bits) - 1
    nothing = spread(vector[at] & 0)
    seen = nothing
    for i in range(at + (low & -8), at + high, 8):
        over = nothing
        here = i
        for limb in range(limbs - 1):
            x = load(nothing, vector, here) + over
            store(vector, here, x & mask)
            over = x >> bits
            here += step
        x = load(nothing, vector, here) + over
        store(vector, here, x)
        seen = seen | (x ^ (x >> 63))
    return all_bits(seen) >> (bits - 1)
'''
CLEAR = '''
@called
def clear(array, count, width, begin, length):
    """The part [begin, begin + length) of so many vectors becomes 0."""
    for number in range(count):
        for i in range(number * width + begin, number * width + begin + length):
            array[i] = 0


@called
def extend(pending, used, result, nodes, used_nodes, width, begin, length):
    """A limb that no number has used so far becomes 0."""
    clear(pending, used, width, begin, length)
    clear(result, 1, width, begin, length)
    clear(nodes, used_nodes, width, begin, length)
'''
ANY_IN = '''
@called
def any_in(vector, begin, end):
    """Whether any number is not 0."""
    for i in range(begin, end):
        if vector[i] != 0:
            return True
    return False
'''


class Limbs(Vertices):
    """The parts of a loop that sum vertices in limbs."""

    def sum_limbs(self, q: str, reads: list[tuple[str, StoreKind]], held: bool) -> None:
        """The same in limbs: the number of trends is summed and carried in one pass, sums are carried and multiplied
        with the digits of values after it."""
        put, shape = self.text.put, self.shape
        certain, alone = self.begins_always(q), shape.components == 1
        begin, ends = self.limits(q, shape.lanes)
        if shape.queries:
            with self.text.block("if mine != everyone"):
                self.each("x", "=", "0", mask="~mine")
            if begin is not None:
                with self.text.block(f"for i in range({begin or 'low'}, high)"):
                    put("pending[at + i] += begins >> query[i] & 1")
            self.settle("at")
            put("found = False")
            with self.text.block("for c in range(0, limbs * step, step)"):
                with self.text.block("if any_in(pending, at + c + low, at + c + high)"):
                    put("found = True")
        else:
            put(*(f"{name} = {'nothing' if shape.packs else 0}" for name in ["more"] + ["most"] * (not certain)))
            self.sum_counts(reads, held, begin, ends if alone else None, certain)
            if not certain:  # a number may be no more than what it carries out of its highest limb
                put("found = differs(most | more, nothing)" if shape.packs else "found = (most | more) != 0")
            with self.text.block("if differs(more, nothing)" if shape.packs else "if more != 0"):
                self.widen()
                with self.text.block("for i in range(low, high if seen == 0 else low)"):
                    put("pending[at + (limbs - 1) * step + i] = pending[at + width + i]")
                    if alone and ends is not None:
                        with self.text.block_if(f"i < {ends}" if ends and shape.lanes else ends or None):
                            put("result[(limbs - 1) * step + i] = pending[at + width + i]")
        with self.text.block_if(None if certain else "found"):
            for k in range(1, shape.components):
                asked = self.counts(q, k)
                if asked != "":
                    with self.text.block_if(asked):
                        for digit in range(shape.digits):
                            self.multiply(q, k, digit)
                self.settle(f"at + {lanes_of(k)}")
            if not alone or shape.queries:
                self.end_limbs(ends)
            self.wait(q)

    def sum_counts(
        self, reads: list[tuple[str, StoreKind]], held: bool, begin: str | None, ends: str | None, certain: bool
    ) -> None:
        """The sum of what the row may follow, of which numbers of trends are carried from limb to limb; what is carried
        out of the highest limb is left at the place of the next vector."""
        put, lanes = self.text.put, self.shape.lanes
        with self.over_lanes(self.shape.packs) as lane:
            if begin is None:
                put(f"over = {'nothing' if self.packed else 0}")
            elif self.packed:
                put(f"over = put_between(one, i, {begin or 'low'}, high, nothing)")
            else:
                test = f"i >= {begin}" if begin and lanes else begin
                put(f"over = 1 if {test} else 0" if test else "over = 1")
            with self.over_limbs(lane) as places:
                self.sum_reads(reads, held, places)
                self.add_to("x0", "over")
                if self.packed:
                    put(*(f"x{k} = put_between(x{k}, i, low, high, nothing)" for k in range(self.shape.components)))
                put("over = x0 >> bits", "x0 = x0 & mask", *([] if certain else ["most = most | x0"]))
                for k, place in enumerate(places):
                    self.set(f"pending[at + {place}]", f"x{k}")
                if ends is not None and self.packed:
                    x0 = f"put_between(x0, i, low, {ends}, nothing)" if ends else "x0"
                    self.add_to(f"result[{places[0]}]", x0)
                elif ends is not None:
                    with self.text.block_if(f"i < {ends}" if ends and lanes else ends or None):
                        self.add_to(f"result[{places[0]}]", "x0")
            self.set("pending[at + width + i]", "over")
            put("more = more | over")

    def settle(self, number: str) -> None:
        """Carry between the limbs of a number, and take more of them until it fits."""
        with self.text.block(f"while seen == 0 and carry(pending, {number}, low, high, step, limbs, bits) != 0"):
            self.widen()

    def multiply(self, q: str, k: int, digit: int) -> None:
        put, shape = self.text.put, self.shape
        put(f"value = {self.value(k, digit)}")
        with self.text.block("if value != 0 and seen == 0"):
            if shape.queries:
                put(f"counts = {self.counted_mask(q, k)}")
            put("limb = 0")
            with self.text.block("while limb < limbs and seen == 0"):
                put("come = at + limb * step")
                if digit:
                    with self.text.block(
                        f"while seen == 0 and limb + {digit} >= limbs and any_in(pending, come + low, come + high)"
                    ):
                        self.widen()
                with self.text.block_if(f"limb + {digit} < limbs" if digit else None):
                    put(f"to = at + {lanes_of(k)} + (limb + {digit}) * step")
                    with self.text.block("for i in range(low, high)"):
                        mask = "counts >> query[i] & 1" if shape.queries else None
                        with self.text.block_if(mask):
                            put("pending[to + i] += value * pending[come + i]")
                put("limb += 1")
            if digit + 1 < shape.digits:  # else that comes after it, whether there is a value or not
                self.settle(f"at + {lanes_of(k)}")

    def widen(self) -> None:
        """One more limb, 0 in all vectors; or a mark that there is none."""
        put = self.text.put
        with self.text.block("if limbs == most_limbs"):
            put("seen = 1 << 62")
        with self.text.block("else"):
            stored = any(kind.method is not Way.SCAN for kind in self.plan.kinds)
            nodes = "nodes, used_nodes" if stored else "result, 1"
            put(f"extend(pending, used + 1, result, {nodes}, width, limbs * step, step)")
            if self.has_lists:
                for s in self.stores():
                    if s == "s" or self.plan.lists[int(s)] >= 0:
                        with self.text.block(f"for p in range(tail[{s}])"):
                            put(f"old = ({self.list_at(s)} + p) * width + limbs * step")
                            with self.text.block("for i in range(old, old + step)"):
                                put("vectors[i] = 0")
            put("limbs += 1")

    def end_limbs(self, ends: str | None) -> None:
        """The result += the vertex, limb by limb."""
        lanes, line = self.shape.lanes, ("result[0]", "+=", "x")
        if ends is None:
            return
        with self.text.block_if(None if lanes else ends or None):
            high = ends if ends and lanes else "high"
            if not self.shape.queries:
                self.each(*line, high=high)
                return
            with self.text.block("if enders == -1"):
                self.each(*line, high=high)
            with self.text.block("else"):
                self.each(*line, high=high, mask="enders")
