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
from trendweave.kernels.loops.plan import NOT_THERE, UNGUARDED, LoopPlan, StoreKind
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
def extend(pending, used, result, nodes, used_nodes, width, begin, length):
    """A limb that no number has used so far becomes 0."""
    clear(pending, used, width, begin, length)
    clear(result, 1, width, begin, length)
    clear(nodes, used_nodes, width, begin, length)


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
            one = {"float64": "1.0", "largest": "NO_VALUE"}.get(shape.numbers, "1")
            put(f"nothing = spread({self.zero})", f"one = spread({one})")
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
                put("limbs = 1", "mask = (1 << bits) - 1", f"step = {lanes_of(shape.components)}")
                put(f"width = {self.use('most_limbs')} * step")
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
                    put(f"readable = {self.at('letters', 'row')}")
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
                return f"readable >> {variable} & 1"
            letters = self.at("letters", f"row * {self.shape.words} + ({variable} >> 6)")
            return f"{letters} >> ({variable} & 63) & 1"
        number = self.plan.variable[int(q)]
        if self.shape.words == 1:
            return f"readable >> {number} & 1" if number else "readable & 1"
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
            reads, held = self.predecessors(q)
            if shape.queries and (shape.packs or self.limbs):
                self.gather(reads, held)
                reads, held = [], True
            if shape.queries:
                put(f"begins = {self.at('start_mask', q)} & mine", f"enders = {self.at('final_mask', q)}")
            if self.limbs:
                self.sum_limbs(q, reads, held)
            else:
                self.sum_words(q, reads, held)

    # The vertex itself, lane by lane, or in packs of lanes

    def sum_words(self, q: str, reads: list[tuple[str, StoreKind]], held: bool) -> None:
        """The sum of what the row may follow, one more trend where trends begin, and what the row itself adds; the
        result += the vertex. All of that in one pass."""
        put, shape, numbers = self.text.put, self.shape, self.shape.numbers
        packed, certain = shape.packs and not shape.queries, self.begins_always(q)
        checked = numbers is Numbers.INT64
        counted = [k for k in range(shape.values, shape.components) if self.counts(q, k) != ""]
        begin, ends = self.limits(q, packed)
        if self.arrays:
            put(*(f"value{k} = {self.value(k)}" for k in counted))
            if packed and (checked or not certain):
                put("most = nothing")
            elif not certain:
                put("found = False")
            if packed and checked and shape.components > 1:
                put("most_of_sums = nothing")
        with self.over_lanes(packed) as places:
            self.sum_reads(reads, held, places)
            self.begin(q, begin)
            with self.text.block_if(None if certain or packed else f"x0 != {self.zero}"):
                if packed and checked:
                    put("most = join_bits(most, x0)")
                elif packed and not certain:
                    put(f"most = {self.plus}(most, x0)")
                elif not certain and self.arrays:
                    put("found = True")
                if checked and not packed:
                    put("seen |= x0")
                for k in counted:
                    self.add_value(q, k)
                if checked:
                    for k in range(1, shape.components):
                        put(
                            f"most_of_sums = join_bits(most_of_sums, magnitude_bits(x{k}))"
                            if packed
                            else f"seen |= x{k} ^ (x{k} >> 63)"
                        )
                self.end(places, ends)
                if not self.arrays:
                    self.wait(q)
            if self.arrays and self.is_read(q):
                for k, place in enumerate(places):
                    self.packed = packed
                    self.set("pending", f"at + {place}", f"x{k}")
        if not self.arrays:
            return
        if packed and checked:
            put("found = all_bits(most)", "seen |= found")
            if shape.components > 1:
                put("seen |= all_bits(most_of_sums)")
            for k in counted:
                with self.text.block_if(self.counts(q, k)):
                    with self.text.block(f"if abs(float(value{k})) * float(found) >= {LARGEST}"):
                        put("seen |= 1 << 62")
        elif packed and not certain:
            put("found = any_set(add(most, nothing))")
        with self.text.block_if(None if certain else "found != 0" if packed and checked else "found"):
            self.wait(q)

    def limits(self, q: str, packed: bool) -> tuple[str | None, str | None]:
        """Where trends begin and where they end with the vertex: "" for everywhere, None for nowhere, else a condition;
        in packs the lane from which on, and before which."""
        plan, put = self.plan, self.text.put
        found = list[str | None]()
        for name, guards, column, comparison in (
            ("start_guard", plan.start, "start_guards", "<="),
            ("final_guard", plan.final, "final_guards", ">="),
        ):
            of_states = sorted({guards[int(q)]} if q != "q" else set(guards))
            several = len(of_states) > 1
            window = "window + i" if self.shape.lanes else self.at("window_first", "row") if max(of_states) >= 0 else ""
            parts = list[str]()
            lane, nowhere = ("begin", "high") if comparison == "<=" else ("ends", "low")
            if packed and several:
                put(f"{lane} = {nowhere}")
            for guard in of_states:
                if guard == NOT_THERE:
                    continue
                asked = f"{self.at(name, 'q')} == {guard}" if several else None
                limit = "" if guard == UNGUARDED else self.matrix(column, guard, "row")
                if packed and (several or guard != UNGUARDED):
                    with self.text.block_if(asked):
                        if comparison == "<=":
                            put(f"begin = max(low, {limit} - window)" if limit else "begin = low")
                        else:
                            put(f"ends = min(high, {limit} - window + 1)" if limit else "ends = high")
                    parts.append(lane)
                    continue
                tests = [asked or "", f"{limit} {comparison} {window}" if limit else ""]
                parts.append(" and ".join(test for test in tests if test))
            if packed:
                found.append(parts[0] if parts else None)
            else:
                found.append(" or ".join(parts) if parts else None)
        return found[0], found[1]

    def begin(self, q: str, begin: str | None) -> None:
        """One more trend begins, where the state and its guard let it; on lanes of windows that the row is not in there
        are none."""
        put, shape, numbers = self.text.put, self.shape, self.shape.numbers
        names = [f"x{k}" for k in range(shape.components)]
        begun = names if numbers is Numbers.LARGEST else names[:1]
        if self.packed:
            if begin is not None:
                one = f"put_between(one, i, {begin}, high, nothing)" if begin else "one"
                for name in begun:
                    self.add_to(name, one)
            put(*(f"{name} = put_between({name}, i, low, high, nothing)" for name in names))
            return
        if shape.queries:
            with self.text.block(f"if mine >> {self.at('query', 'i')} & 1 == 0"):
                put(*(f"{name} = {self.zero}" for name in names))
        if begin is None:
            return
        tests = [f"begins >> {self.at('query', 'i')} & 1"] if shape.queries else []
        tests += [f"({begin})" if " or " in begin and tests else begin] if begin else []
        one = {"float64": "1.0", "largest": "NO_VALUE", "latest": "now"}.get(numbers, "1")
        with self.text.block_if(" and ".join(tests) or None):
            for name in begun:
                self.add_to(name, one)

    def end(self, places: list[str], ends: str | None) -> None:
        """The result += the vertex, in those windows in which trends may end with it."""
        if ends is None:
            return
        if self.packed:
            for k, place in enumerate(places):
                x = f"put_between(x{k}, i, low, {ends}, nothing)" if ends else f"x{k}"
                self.add_to_entry("result", place, x)
            return
        tests = [f"enders >> {self.at('query', 'i')} & 1"] if self.shape.queries else []
        tests += [f"({ends})" if " or " in ends and tests else ends] if ends else []
        with self.text.block_if(" and ".join(tests) or None):
            for k, place in enumerate(places):
                if self.arrays:
                    self.add_to_entry("result", place, f"x{k}")
                else:
                    self.text.put(self.add(f"total{k}", f"x{k}"))
            if self.shape.per_row:
                self.text.put(f"{self.at('row_results', 'row')} = max(row_results[row], x0)")

    def begins_always(self, q: str) -> bool:
        """Whether a row read as a state begins trends in all of its windows, so that some end with it."""
        return q != "q" and self.plan.start[int(q)] == UNGUARDED and not self.shape.queries

    def counts(self, q: str, k: int) -> str | None:
        """Whether a state's rows count for a component: a condition, None for always, "" for never."""
        number = k - self.shape.values
        if self.shape.queries:
            return f"{self.counted_mask(q, k)} != 0"
        if q == "q":
            return f"{self.at('counted', f'{number * len(self.plan.variable)} + q')} != 0"
        return None if self.shape.counted[number][int(q)] else ""

    def counted_mask(self, q: str, k: int) -> str:
        """The queries for which a state's rows count for a component."""
        return self.at("counted_mask", f"{(k - self.shape.values) * len(self.plan.variable)} + {q}")

    def value(self, k: int, digit: int = 0) -> str:
        """The value that a row adds to a component."""
        return self.matrix("values", (k - self.shape.values) * self.shape.digits + digit, "row")

    def add_value(self, q: str, k: int) -> None:
        """A value times the number of trends, or the value as an extremum."""
        put, shape, numbers = self.text.put, self.shape, self.shape.numbers
        tests = [self.counts(q, k)]
        if shape.queries:
            tests = [f"{self.counted_mask(q, k)} >> {self.at('query', 'i')} & 1"]
        with self.text.block_if(" and ".join(test for test in tests if test) or None):
            value = f"value{k}"
            if not self.arrays:
                value = "value"
                put(f"value = {self.value(k)}")
            if numbers is Numbers.INT64 and not self.packed:
                with self.text.block(f"if abs(float({value})) * float(x0) >= {LARGEST}"):
                    put("seen |= 1 << 62")
            if numbers is Numbers.LARGEST:
                raised = f"raise_others(x{k}, {value}, NO_TREND)"
                put(f"x{k} = {raised}" if self.packed else f"x{k} = max(x{k}, {value})")
                return
            with self.text.block_if(f"{value} != 0" if numbers is Numbers.FLOAT64 else None):
                self.add_to(f"x{k}", f"times(x0, {value})" if self.packed else f"{value} * x0")

    def sum_limbs(self, q: str, reads: list[tuple[str, StoreKind]], held: bool) -> None:
        """The same in limbs: the number of trends is summed and carried in one pass, sums are carried and multiplied
        with the digits of values after it."""
        put, shape = self.text.put, self.shape
        certain, alone = self.begins_always(q), shape.components == 1
        begin, ends = self.limits(q, shape.lanes)
        if shape.queries:
            with self.text.block("if mine != everyone"):
                self.each("{x} = 0", mask="~mine")
            if begin is not None:
                with self.text.block(f"for i in range({begin or 'low'}, high)"):
                    put(f"pending[at + i] += begins >> {self.at('query', 'i')} & 1")
            self.settle("at")
            put("found = False")
            with self.text.block("for c in range(0, limbs * step, step)"):
                with self.text.block("if any_in(pending, at + c + low, at + c + high)"):
                    put("found = True")
        else:
            put(*(f"{name} = {'nothing' if shape.packs else 0}" for name in ["more"] + ["most"] * (not certain)))
            self.sum_counts(reads, held, begin, ends if alone else None, certain)
            put(*([] if certain else ["found = any_set(most)" if shape.packs else "found = most != 0"]))
            with self.text.block("if any_set(more)" if shape.packs else "if more != 0"):
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
                put(
                    f"over = {self.joined('shift_down', 'x0', 'bits')}",
                    f"x0 = {self.joined('keep_bits', 'x0', 'mask')}",
                )
                if not certain:
                    put(f"most = {self.joined('join_bits', 'most', 'x0')}")
                for k, place in enumerate(places):
                    self.set("pending", f"at + {place}", f"x{k}")
                if ends is not None and self.packed:
                    x0 = f"put_between(x0, i, low, {ends}, nothing)" if ends else "x0"
                    self.add_to_entry("result", places[0], x0)
                elif ends is not None:
                    with self.text.block_if(f"i < {ends}" if ends and lanes else ends or None):
                        self.add_to_entry("result", places[0], "x0")
            self.set("pending", "at + width + i", "over")
            put(f"more = {self.joined('join_bits', 'more', 'over')}")

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
                        mask = f"counts >> {self.at('query', 'i')} & 1" if shape.queries else None
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
            nodes = f"{self.use('nodes')}, used_nodes" if stored else "result, 1"
            put(f"extend(pending, used + 1, result, {nodes}, width, limbs * step, step)")
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

    def end_limbs(self, ends: str | None) -> None:
        """The result += the vertex, limb by limb."""
        line, lanes = "result[{o}] += {x}", self.shape.lanes
        if ends is None:
            return
        self.use("result")
        with self.text.block_if(None if lanes else ends or None):
            high = ends if ends and lanes else "high"
            if not self.shape.queries:
                self.each(line, high=high)
                return
            with self.text.block("if enders == -1"):
                self.each(line, high=high)
            with self.text.block("else"):
                self.each(line, high=high, mask="enders")

    def is_read(self, q: str) -> bool:
        """Whether any state follows one."""
        plan = self.plan
        return bool(plan.kinds) and (q == "q" or plan.outgoing[int(q)] < plan.outgoing[int(q) + 1])

    def wait(self, q: str) -> None:
        """The vertex waits for the end of the tick, if anything reads it."""
        put, shape, plan = self.text.put, self.shape, self.plan
        if not self.is_read(q):
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
