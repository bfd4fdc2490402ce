"""The writer of `propagate`: one loop over the events of each window, or of several windows side by side.

A row read as a state makes a vertex. Its vector is the sum of the vectors of all vertices that it may follow, one more
trend where trends may begin, and what the row itself adds to the aggregates (GRETA, Section 4.2, Algorithm 2). Each
transition finds its sum in a store of its source state (`stores.py`). Vectors are inserted once the tick is over:
events of one time never follow each other. Numbers of the kind "limbs" take a further limb for all vectors when one
asks for it.
"""

from __future__ import annotations

from functools import lru_cache
from textwrap import indent

from trendweave.kernels.inputs import Selection, Way
from trendweave.kernels.loops.plan import NOT_THERE, UNGUARDED, LoopPlan
from trendweave.kernels.loops.stores import Stores
from trendweave.kernels.loops.text import INDENT, Text, write_signature
from trendweave.kernels.loops.vectors import Numbers, Shape, lanes_of

#: Bits of a product from which on it is too large.
LARGEST = "2.0**61"


@lru_cache(maxsize=256)
def write_propagate(plan: LoopPlan, shape: Shape) -> tuple[str, tuple[str, ...]]:
    """The text of a loop, and the names of what it takes."""
    return _Writer(plan, shape).write()


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
_CARRY_IN_PACKS = '''
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
            x = add(load(nothing, vector, here), over)
            store(vector, here, keep_bits(x, mask))
            over = shift_down(x, bits)
            here += step
        x = add(load(nothing, vector, here), over)
        store(vector, here, x)
        seen = join_bits(seen, magnitude_bits(x))
    return all_bits(seen) >> (bits - 1)
'''
_CLEAR = '''
@called
def clear(array, count, width, begin, length):
    """The part [begin, begin + length) of so many vectors becomes 0."""
    for number in range(count):
        for i in range(number * width + begin, number * width + begin + length):
            array[i] = 0
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


class _Writer(Stores):
    """The loop over blocks, ticks and rows, and what becomes of a vertex."""

    def write(self) -> tuple[str, tuple[str, ...]]:
        self.blocks()
        takes = tuple(self.used)
        head = Text()
        if self.limbs:
            for function in (_CARRY_IN_PACKS if self.shape.packs else CARRY, _CLEAR, ANY_IN):
                head.put(*function.strip("\n").split("\n"), "", "")
        head.put("NO_TREND = -(2**63)", "NO_VALUE = NO_TREND + 1", "", "", "@loop")
        return f"{head}{write_signature('propagate', takes)}{indent(str(self.text), INDENT)}", takes

    def blocks(self) -> None:
        """All blocks, one after the other."""
        put, shape, plan = self.text.put, self.shape, self.plan
        self.use("row_start"), self.use("row_end"), self.use("tick"), self.use("results")
        put("n = len(tick)")
        if shape.packs:
            put(f"nothing = spread({self.use('nothing_at_all')})")
        if shape.queries:
            self.use("everyone")
        with self.text.block("for b in range(len(row_start))"):
            put("end = row_end[b]")
            if shape.lanes:
                put(f"window = {self.at('first_window', 'b')}", f"here = {self.at('windows', 'b')}")
                put("lanes = (here + 7) & -8" if shape.packs else "lanes = here")
            elif self.arrays:
                put("low = 0", "high = 1", "lanes = 1")
            if self.has_lists:
                put("capacity = end - row_start[b]")
            if plan.rankings:
                put(f"shift = {self.at('places_from', 'b')} - row_start[b]")
            if shape.numbers in (Numbers.INT64, Numbers.LIMBS):
                put(f"bits = {self.at('bits_of_limbs', 'b')}", "seen = 0")
            if self.limbs:
                put("limbs = 1", f"width = {self.use('most_limbs')} * {lanes_of(shape.components)}")
            elif shape.lanes:
                put(f"width = {lanes_of(shape.components)}")
            self.empty_stores()
            self.empty_result()
            if not self.unrolled:
                put(f"reach = {self.at('furthest', str(len(plan.variable)))}")
            put("row = row_start[b]")
            with self.text.block("while row < end"):
                put("heed_stop()", "now = tick[row]")
                if plan.kinds or self.arrays:
                    put("used = 0")
                self.tick()
            self.write_results()

    def empty_result(self) -> None:
        if not self.arrays:
            self.text.put(*(f"total{k} = {self.zero}" for k in range(self.shape.components)))
            return
        with self.text.block(f"for i in range({lanes_of(self.shape.components)})"):
            self.text.put(f"{self.at('result', 'i')} = {self.zero}")

    def tick(self) -> None:
        """The events of one time: vertices first, then the stores."""
        put, shape, plan = self.text.put, self.shape, self.plan
        with self.text.block("while row < end and tick[row] == now"):
            if shape.lanes:
                put(f"low = max({self.at('window_first', 'row')} - window, 0)")
                put(f"high = min({self.at('window_last', 'row')} - window + 1, here)")
            # Without lanes, rows in no window can be read as no variable.
            with self.text.block_if("low < high" if shape.lanes else None):
                if shape.words == 1 and not shape.queries:
                    put(f"mask = {self.at('letters', 'row')}")
                if self.unrolled:
                    for q in range(len(plan.variable)):
                        self.vertex(str(q))
                else:
                    with self.text.block("for q in range(reach)"):
                        self.vertex("q")
            put("row += 1")
        if shape.numbers in (Numbers.INT64, Numbers.LIMBS):
            limit = "bits" if shape.numbers is Numbers.INT64 else "62"
            with self.text.block(f"if seen >> {limit} != 0"):
                put("break")
        if shape.selection is Selection.NEXT:
            self.forget_followed()
        if plan.kinds:
            self.insert()

    def reads(self, q: str) -> str:
        """Whether a row may be read as a state."""
        if self.shape.queries:
            return "mine != 0"
        if q == "q":
            variable = self.at("variable", "q")
            if self.shape.words == 1:
                return f"mask >> {variable} & 1"
            letters = self.at("letters", f"row * {self.shape.words} + ({variable} >> 6)")
            return f"{letters} >> ({variable} & 63) & 1"
        number = self.plan.variable[int(q)]
        if self.shape.words == 1:
            return f"mask >> {number} & 1" if number else "mask & 1"
        return f"{self.at('letters', f'row * {self.shape.words} + {number // 64}')} >> {number % 64} & 1"

    def vertex(self, q: str) -> None:
        """The vertex of a row read as a state, if it may be."""
        put, shape = self.text.put, self.shape
        put(f"# read as state {q}")
        if shape.queries:
            put(f"mine = {self.matrix('accepted', q if q == 'q' else int(q), 'row')}")
        with self.text.block(f"if {self.reads(q)}"):
            if self.arrays:
                self.use("pending")
                put("at = used * width")
            self.predecessors(q)
            if shape.packs:  # of earlier windows, which the row is not in
                with self.over_components("for i in range(low & -8, low)") as offsets:
                    put(*(f"pending[at + {o}] = {self.zero}" for o in offsets))
            if shape.queries:
                with self.text.block("if mine != everyone"):
                    self.each(f"{{x}} = {self.zero}", mask="~mine")
            self.begin(q)
            self.finish(q)

    # The vertex itself

    def begin(self, q: str) -> None:
        """One more trend begins, where the state and its guard let it."""
        put, shape = self.text.put, self.shape
        guards = [self.plan.start[int(q)]] if q != "q" else sorted(set(self.plan.start))
        for guard in guards:
            if guard == NOT_THERE:
                continue
            asked = f"{self.at('start_guard', 'q')} == {guard}" if q == "q" and len(guards) > 1 else None
            with self.text.block_if(asked):
                limit = None if guard == UNGUARDED else self.matrix("start_guards", guard, "row")
                if not self.arrays or not shape.lanes:
                    window = self.at("window_first", "row")
                    with self.text.block_if(None if limit is None else f"{limit} <= {window}"):
                        if self.arrays:
                            put("i = 0")
                        self.begin_here()
                    continue
                put("begin = low" if limit is None else f"begin = max(low, {limit} - window)")
                mask = None
                if shape.queries:
                    put(f"begins = {self.at('start_mask', q)} & mine")
                    mask = f"begins >> {self.at('query', 'i')} & 1"
                if shape.packs and mask is None and shape.sums:
                    put("first = begin & -8")
                    with self.text.block("for i in range(first, high, 8)"):
                        put(f"begun = keep_between(spread({self.use('one_trend')}), i, begin, high)")
                        put("store(pending, at + i, add(load(nothing, pending, at + i), begun))")
                    continue
                with self.text.block("for i in range(begin, high)"), self.text.block_if(mask):
                    self.begin_here()

    def begin_here(self) -> None:
        numbers = self.shape.numbers
        if self.shape.sums:
            self.text.put(f"{self.x(0)} += {'1.0' if numbers is Numbers.FLOAT64 else '1'}")
        elif numbers is Numbers.LATEST:
            self.text.put(self.add(self.x(0), "now"))
        else:
            for k in range(self.shape.components):
                self.text.put(self.add(self.x(k), "NO_VALUE"))

    def finish(self, q: str) -> None:
        """What the row adds to the aggregates, where a trend ends with it at all."""
        put, shape = self.text.put, self.shape
        if self.limbs:
            self.finish_limbs(q)
            return
        found = "found" if self.arrays else "x0"
        certain = self.begins_always(q)
        if self.arrays and not (certain and shape.numbers is Numbers.FLOAT64):
            if shape.packs and shape.numbers is Numbers.FLOAT64:
                put("sums = nothing")
                with self.text.block("for i in range(low & -8, high, 8)"):
                    put("sums = add(sums, load(nothing, pending, at + i))")
                put("found = any_set(sums)")
            else:
                put(f"found = {self.zero}")
                with self.text.block("for i in range(low, high)"):
                    x = self.x(0)
                    put(
                        f"found |= {x}"
                        if shape.numbers in (Numbers.INT64, Numbers.EXACT)
                        else f"found = max(found, {x})"
                    )
        with self.text.block_if(None if certain else f"{found} != {self.zero}"):
            if shape.numbers is Numbers.INT64:
                put(f"seen |= {found}")
            for k in range(shape.values, shape.components):
                self.add_value(q, k, found)
            self.end(q)
            self.wait(q)

    def begins_always(self, q: str) -> bool:
        """Whether a row read as a state begins trends in all of its windows, so that some end with it."""
        return q != "q" and self.plan.start[int(q)] == UNGUARDED and not self.shape.queries

    def counts(self, q: str, k: int) -> str | None:
        """Whether a state's rows count for a component: a condition, None for always, "" for never."""
        number = k - self.shape.values
        if self.shape.queries:
            return f"{self.at('counted_mask', f'{number * len(self.plan.variable)} + {q}')} != 0"
        if q == "q":
            return f"{self.at('counted', f'{number * len(self.plan.variable)} + q')} != 0"
        return None if self.shape.counted[number][int(q)] else ""

    def value(self, k: int, digit: int = 0) -> str:
        """The value that a row adds to a component."""
        return self.matrix("values", (k - self.shape.values) * self.shape.digits + digit, "row")

    def add_value(self, q: str, k: int, found: str) -> None:
        put, shape = self.text.put, self.shape
        asked = self.counts(q, k)
        checked = shape.numbers is Numbers.INT64
        if asked != "":
            with self.text.block_if(asked):
                put(f"value = {self.value(k)}")
                if checked:
                    with self.text.block(f"if abs(float(value)) * float({found}) >= {LARGEST}"):
                        put("seen |= 1 << 62")
                mask = None
                if shape.queries:
                    put(f"counts = {self.at('counted_mask', f'{(k - shape.values) * len(self.plan.variable)} + {q}')}")
                    mask = f"counts >> {self.at('query', 'i')} & 1"
                if shape.packs and not shape.queries:
                    self.add_value_packs(k)
                else:
                    self.add_value_lanes(k, mask)
        if checked and shape.packs:
            put("bits_of_all = nothing")
            with self.text.block("for i in range(low & -8, high, 8)"):
                numbers = f"load(nothing, pending, at + {lanes_of(k)} + i)"
                put(f"bits_of_all = join_bits(bits_of_all, magnitude_bits({numbers}))")
            put("seen |= all_bits(bits_of_all)")
        elif checked:
            over = self.text.block("for i in range(low, high)") if self.arrays else self.text.block_if(None)
            with over:
                put(f"seen |= {self.x(k)} ^ ({self.x(k)} >> 63)")

    def add_value_lanes(self, k: int, mask: str | None) -> None:
        """A value times the number of trends, or the value as an extremum, on each lane."""
        put, shape = self.text.put, self.shape
        over = self.text.block("for i in range(low, high)") if self.arrays else self.text.block_if(None)
        with self.text.block_if("value != 0" if shape.numbers is Numbers.FLOAT64 else None), over:
            with self.text.block_if(mask):
                if shape.numbers is Numbers.LARGEST:
                    with self.text.block_if(f"{self.x(k)} != NO_TREND" if self.arrays else None):
                        put(self.add(self.x(k), "value"))
                elif shape.numbers is Numbers.FLOAT64 and self.arrays:
                    with self.text.block(f"if {self.x(0)} != 0"):
                        put(f"{self.x(k)} += value * {self.x(0)}")
                else:
                    put(f"{self.x(k)} += value * {self.x(0)}")

    def add_value_packs(self, k: int) -> None:
        """The same eight lanes at a time; what is added of a pack whose count is 0 is 0."""
        with self.text.block_if("value != 0" if self.shape.numbers is Numbers.FLOAT64 else None):
            with self.text.block("for i in range(low & -8, high, 8)"):
                at = "at + i" if k == 0 else f"at + {lanes_of(k)} + i"
                if self.shape.sums:
                    product = "times(load(nothing, pending, at + i), value)"
                    self.text.put(f"store(pending, {at}, add(load(nothing, pending, {at}), {product}))")
                else:
                    self.text.put(f"store(pending, {at}, raise_others(load(nothing, pending, {at}), value, NO_TREND))")

    def finish_limbs(self, q: str) -> None:
        """Carry, and multiply with the digits of values; `grown` is 0 where one more limb is needed than there are."""
        put, shape = self.text.put, self.shape
        put(f"step = {lanes_of(shape.components)}")
        self.settle("at")
        certain = self.begins_always(q)
        if not certain:
            put("found = False")
            with self.text.block("for c in range(0, limbs * step, step)"):
                with self.text.block("if any_in(pending, at + c + low, at + c + high)"):
                    put("found = True")
        with self.text.block_if(None if certain else "found"):
            for k in range(1, shape.components):
                asked = self.counts(q, k)
                if asked != "":
                    with self.text.block_if(asked):
                        for digit in range(shape.digits):
                            self.multiply(q, k, digit)
                self.settle(f"at + {lanes_of(k)}")
            self.end(q)
            self.wait(q)

    def settle(self, number: str) -> None:
        """Carry between the limbs of a number, and take more of them until it fits."""
        with self.text.block(f"while seen == 0 and carry(pending, {number}, low, high, step, limbs, bits) != 0"):
            self.widen()

    def multiply(self, q: str, k: int, digit: int) -> None:
        put, shape = self.text.put, self.shape
        put(f"value = {self.value(k, digit)}")
        with self.text.block("if value != 0 and seen == 0"):
            if shape.queries:
                put(f"counts = {self.at('counted_mask', f'{(k - 1) * len(self.plan.variable)} + {q}')}")
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
                        mask = f"counts >> {self.at('query', 'i')} & 1" if shape.queries else None
                        with self.text.block_if(mask):
                            put("pending[to + i] += value * pending[come + i]")
                put("limb += 1")
            self.settle(f"at + {lanes_of(k)}")

    def widen(self) -> None:
        """One more limb, 0 in all vectors; or a mark that there is none."""
        put = self.text.put
        with self.text.block("if limbs == most_limbs"):
            put("seen = 1 << 62")
        with self.text.block("else"):
            put("clear(pending, used + 1, width, limbs * step, step)", "clear(result, 1, width, limbs * step, step)")
            if any(kind.method is not Way.SCAN for kind in self.plan.kinds):
                put(f"clear({self.use('nodes')}, used_nodes, width, limbs * step, step)")
            if self.has_lists:
                for s, block in self.over_stores():
                    if s != "s" and self.plan.lists[int(s)] < 0:
                        continue
                    with block, self.text.block_if(f"{self.at('listed', 's')} >= 0" if s == "s" else None):
                        with self.text.block(f"for p in range({self.at('tail', s)})"):
                            put(f"old = ({self.list_at(s)} + p) * width + limbs * step")
                            with self.text.block("for i in range(old, old + step)"):
                                put(f"{self.at('vectors', 'i')} = 0")
            put("limbs += 1")

    def end(self, q: str) -> None:
        """The result += the vertex, in those windows in which trends may end with it."""
        put, shape = self.text.put, self.shape
        guards = [self.plan.final[int(q)]] if q != "q" else sorted(set(self.plan.final))
        for guard in guards:
            if guard == NOT_THERE:
                continue
            asked = f"{self.at('final_guard', 'q')} == {guard}" if q == "q" and len(guards) > 1 else None
            with self.text.block_if(asked):
                limit = None if guard == UNGUARDED else self.matrix("final_guards", guard, "row")
                if not shape.lanes:
                    window = self.at("window_first", "row")
                    with self.text.block_if(None if limit is None else f"{limit} >= {window}"):
                        self.end_here()
                    continue
                high = "high"
                if limit is not None:
                    high = "ends"
                    put(f"ends = min(high, {limit} - window + 1)")
                if not shape.queries:
                    self.each(self.add("result[{o}]", "{x}"), high=high)
                    continue
                put(f"enders = {self.at('final_mask', q)}")
                with self.text.block("if enders == -1"):
                    self.each(self.add("result[{o}]", "{x}"), high=high)
                with self.text.block("else"):
                    self.each(self.add("result[{o}]", "{x}"), high=high, mask="enders")

    def end_here(self) -> None:
        if self.arrays:
            self.each(self.add("result[{o}]", "{x}"))
            return
        for k in range(self.shape.components):
            self.text.put(self.add(f"total{k}", f"x{k}"))
        if self.shape.per_row:
            self.text.put(f"{self.at('row_results', 'row')} = max(row_results[row], x0)")

    def wait(self, q: str) -> None:
        """The vertex waits for the end of the tick, if anything reads it."""
        put, shape, plan = self.text.put, self.shape, self.plan
        if not plan.kinds or (q != "q" and plan.outgoing[int(q)] == plan.outgoing[int(q) + 1]):
            return
        with self.text.block_if(f"{self.at('outgoing', 'q')} < {self.at('outgoing', 'q + 1')}" if q == "q" else None):
            if len(plan.variable) > 1:
                put(f"{self.at('waiting_state', 'used')} = {q}")
            put(f"{self.at('waiting_row', 'used')} = row")
            if shape.lanes:
                put(f"{self.at('waiting_low', 'used')} = low", f"{self.at('waiting_high', 'used')} = high")
            if not self.arrays:
                if shape.components == 1:
                    put(f"{self.at('pending', 'used')} = x0")
                else:
                    put(f"at = used * {shape.components}")
                    put(*(f"{self.at('pending', f'at + {k}' if k else 'at')} = x{k}" for k in range(shape.components)))
            put("used += 1")

    # Results

    def write_results(self) -> None:
        """The results of a block, unless some of its numbers did not fit."""
        put, shape = self.text.put, self.shape
        asked = None
        if shape.numbers in (Numbers.INT64, Numbers.LIMBS):
            put(f"{self.at('fits', 'b')} = seen >> {'bits' if shape.numbers is Numbers.INT64 else '62'} == 0")
            asked = "fits[b]"
        if shape.per_row:
            return
        with self.text.block_if(asked):
            if not self.arrays:
                for k in range(shape.components):
                    index = "b" if shape.components == 1 else f"b * {shape.components}" + (f" + {k}" if k else "")
                    put(f"results[{index}] = total{k}")
                return
            numbers = f"{shape.components} * most_limbs" if self.limbs else str(shape.components)
            put(f"to = {self.at('offset', 'b')}" + (f" * {numbers}" if numbers != "1" else ""))
            with self.text.block(f"for c in range({'limbs * ' if self.limbs else ''}{shape.components})"):
                with self.text.block(f"for i in range({'here' if shape.lanes else '1'})"):
                    put(f"results[to + i * {numbers} + c] = result[c * lanes + i]")
