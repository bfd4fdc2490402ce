"""The writer of `propagate`: one loop over the events of each window, or of several windows side by side.

A row read as a state makes a vertex. Its vector is the sum of the vectors of all vertices that it may follow, one more
trend where trends may begin, and what the row itself adds to the aggregates (GRETA, Section 4.2, Algorithm 2). Each
transition finds its sum in a store of its source state (`stores.py`). Vectors are inserted once the tick is over:
events of one time never follow each other. `vertices.py` sums a vertex, `limbs.py` numbers
of any size.
"""

from __future__ import annotations

from functools import lru_cache

from trendweave.kernels.inputs import Selection
from trendweave.kernels.loops.limbs import ANY_IN, CARRY, CARRY_IN_PACKS, CLEAR, Limbs
from trendweave.kernels.loops.plan import LoopPlan
from trendweave.kernels.loops.text import NAMES, write_loop
from trendweave.kernels.loops.vectors import Numbers, Shape, lanes_of


@lru_cache(maxsize=256)
def write_propagate(plan: LoopPlan, shape: Shape) -> tuple[str, tuple[str, ...]]:
    """The text of a loop, and the names of what it takes."""
    return Writer(plan, shape).write()


class Writer(Limbs):
    """The loop over blocks, ticks and rows, and what becomes of a vertex."""

    def write(self) -> tuple[str, tuple[str, ...]]:
        self.blocks()
        return write_loop("propagate", self.text, NAMES, *self.functions())

    def functions(self) -> tuple[str, ...]:
        """What the loop calls."""
        return (CARRY_IN_PACKS if self.shape.packs else CARRY, CLEAR, ANY_IN) if self.limbs else ()

    def blocks(self) -> None:
        """All blocks, one after the other."""
        put, shape, plan = self.text.put, self.shape, self.plan
        put("n = len(tick)")
        if shape.packs:
            one = {"float64": "1.0", "largest": "NO_VALUE"}.get(shape.numbers, "1")
            put(f"nothing = spread({self.zero})", f"one = spread({one})")
        with self.text.block("for b in range(len(row_start))"):
            put("end = row_end[b]")
            if shape.lanes:
                put("window = first_window[b]", "here = windows[b]")
                put("lanes = (here + 7) & -8" if shape.packs else "lanes = here")
            elif self.arrays:
                put("low = 0", "high = 1", "lanes = 1")
            if self.has_lists:
                put("capacity = end - row_start[b]")
            if plan.rankings:
                put("shift = places_from[b] - row_start[b]")
            if shape.numbers in (Numbers.INT64, Numbers.LIMBS):
                put("bits = bits_of_limbs[b]", "seen = 0")
            if self.limbs:
                put("limbs = 1", "mask = (1 << bits) - 1", f"step = {lanes_of(shape.components)}")
                put("width = most_limbs * step")
            elif shape.lanes:
                put(f"width = {lanes_of(shape.components)}")
            self.empty_stores()
            self.empty_result()
            if not self.unrolled:
                put(f"reach = furthest[{len(plan.variable)}]")
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
            self.text.put(f"result[i] = {self.zero}")

    def tick(self) -> None:
        """The events of one time: vertices first, then the stores."""
        put, shape, plan = self.text.put, self.shape, self.plan
        with self.text.block("while row < end and tick[row] == now"):
            if shape.lanes:
                put("low = max(window_first[row] - window, 0)")
                put("high = min(window_last[row] - window + 1, here)")
            # Without lanes, rows in no window can be read as no variable.
            with self.text.block_if("low < high" if shape.lanes else None):
                if shape.words == 1 and not shape.queries:
                    put("readable = letters[row]")
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
            variable = "variable[q]"
            if self.shape.words == 1:
                return f"readable >> {variable} & 1"
            letters = f"letters[row * {self.shape.words} + ({variable} >> 6)]"
            return f"{letters} >> ({variable} & 63) & 1"
        return self.has_letter(self.plan.variable[int(q)])

    def has_letter(self, number: int) -> str:
        """Whether a row may be read as a variable."""
        if self.shape.words == 1:
            return f"readable >> {number} & 1" if number else "readable & 1"
        return f"letters[row * {self.shape.words} + {number // 64}] >> {number % 64} & 1"

    def vertex(self, q: str) -> None:
        """The vertex of a row read as a state, if it may be."""
        put, shape = self.text.put, self.shape
        put(f"# read as state {q}")
        if shape.queries:
            put(f"mine = {self.matrix('accepted', q if q == 'q' else int(q), 'row')}")
        with self.text.block(f"if {self.reads(q)}"):
            if self.arrays:
                put("at = used * width")
            reads, held = self.predecessors(q)
            if shape.queries and (shape.packs or self.limbs):
                self.gather(reads, held)
                reads, held = [], True
            if shape.queries:
                put(f"begins = start_mask[{q}] & mine", f"enders = final_mask[{q}]")
            if self.limbs:
                self.sum_limbs(q, reads, held)
            else:
                self.sum_words(q, reads, held)

    # Results

    def write_results(self) -> None:
        """The results of a block, unless some of its numbers did not fit."""
        put, shape = self.text.put, self.shape
        asked = None
        if shape.numbers in (Numbers.INT64, Numbers.LIMBS):
            put(f"fits[b] = seen >> {'bits' if shape.numbers is Numbers.INT64 else '62'} == 0")
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
            put("to = offset[b]" + (f" * {numbers}" if numbers != "1" else ""))
            with self.text.block(f"for c in range({'limbs * ' if self.limbs else ''}{shape.components})"):
                with self.text.block(f"for i in range({'here' if shape.lanes else '1'})"):
                    put(f"results[to + i * {numbers} + c] = result[c * lanes + i]")
