"""Templates without a condition: a number per state is all that the past amounts to.

A row read as state q acts on the totals, v[q] += w(row) * sum over p -> q of v[p], where the empty past counts as a
state of its own whose total is 1 (A-Seq, Section 3.1, prefix counters). Linear aggregates are carried along as dual
numbers: (count, sum) * (1, value) = (count, sum + value * count).

So a stretch of rows is a matrix: the trends that were in a state before it (a line; the last one is that of the empty
past) are afterwards in other states, in so many ways. For the largest value sums are maxima. Where nothing was before
the rows, the last line is all there is: a vector. `fold` adds rows behind many matrices or vectors: it propagates, with
a running store for each state that is handed in and out, and a lane for each line. `apply` multiplies matrices: windows
are some of them, one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from trendweave.kernels.aggregates.blocks import Blocks, find_first
from trendweave.kernels.aggregates.exact_numbers import DIGIT_BITS
from trendweave.kernels.columns import make_writable
from trendweave.kernels.inputs import NO_CONDITION, NO_TREND, NO_VALUE, Rows, Selection, Template, Way
from trendweave.kernels.loops.memory import NUMBER_TYPES, plan_tables
from trendweave.kernels.loops.plan import NOT_THERE, UNGUARDED, LoopPlan, StepKind, StoreKind, make_plan
from trendweave.kernels.loops.propagate import Writer
from trendweave.kernels.loops.run import run_loop
from trendweave.kernels.loops.text import INDENT, NAMES, Text, write_loop
from trendweave.kernels.loops.vectors import Numbers, Shape, lanes_of

#: Bits of a checked number: sums of 2**4 of them, twice, still fit in a word.
CHECKED_BITS = 55
#: Bits of a limb, as values have bits per digit.
LIMB_BITS = DIGIT_BITS
#: Matrices per line of one, of windows that are short: their vectors are multiplied, and no matrices.
SHORT_WINDOW = 2
#: Numbers of all matrices that are held at once, where windows overlap.
MOST_NUMBERS = 2**24


@dataclass(frozen=True, kw_only=True)
class FoldShape(Shape):
    """What the loops are written from. With lanes a matrix has a line per state before, else it is a vector: nothing
    was before the rows. `resets` are pairs (state, variable): rows of it make trends in this state nothing."""

    plan: LoopPlan
    resets: tuple[tuple[int, int], ...] = ()

    @property
    def past(self) -> int:
        """The number of the empty past."""
        return len(self.plan.variable)

    @property
    def lines(self) -> int:
        """Numbers of a line of a matrix: one per state before, the last for what begins."""
        return self.past + 1 if self.lanes else 1

    @property
    def cells(self) -> int:
        """Numbers of a matrix: [state after, component, line]."""
        return self.past * self.components * self.lines

    @property
    def steps(self) -> int:
        """About how many steps a row takes."""
        return (self.past + len(self.plan.source)) * self.components * self.lines

    def identity(self, begun: Sequence[int] = ()) -> np.ndarray:
        """The matrix of no rows; or of one that begins a trend in some states, and adds nothing."""
        largest = self.numbers is Numbers.LARGEST
        kind = NUMBER_TYPES.get(self.numbers, np.int64)
        found = np.full((self.past, self.components, self.lines), NO_TREND if largest else 0, kind)
        lines = [(q, q) for q in range(self.past)] if self.lanes else []
        for q, line in [*lines, *((q, -1) for q in begun)]:
            found[q, : None if largest else 1, line] = NO_VALUE if largest else 1
        return found.reshape(-1)


def plan_fold(template: Template) -> LoopPlan:
    """The plan of a template without conditions: a running store for each state that is followed."""
    return _plan_fold(*(tuple(np.asarray(part).tolist()) for part in template))


@lru_cache(maxsize=256)
def _plan_fold(*parts: tuple[int, ...]) -> LoopPlan:
    template = Template(*(np.array(part, np.int64) for part in parts))
    transitions = len(template.source)
    return make_plan(template, [NO_CONDITION] * transitions, [Way.RUNNING] * transitions, {}, {}, [-1] * transitions)[0]


def fold_shape(template: Template, states: np.ndarray, numbers: Numbers, words: int, lanes: bool = False) -> FoldShape:
    """The shape of a template, and per component beside the count the states whose rows count."""
    counted = tuple(tuple(map(bool, of_states)) for of_states in states)
    components = len(counted) + (numbers is not Numbers.LARGEST)
    return FoldShape(numbers, components, counted, Selection.ANY, words, lanes, plan=plan_fold(template))


@lru_cache(maxsize=256)
def write_fold(shape: FoldShape) -> tuple[str, tuple[str, ...]]:
    """The text of `fold`, and the names of what it takes. Matrices lie one after the other in `results`, each of
    them as [state after, component, line]; of limbs as [state after, limb, component, line], the lowest first."""
    return Fold(shape).write()


class Fold(Writer):
    """The writer of the loop over runs of rows, one for each matrix.

    What rows of one time add waits in the second half of `nodes`, until all of them are known. Vectors of templates
    that are written out are local variables: v, and d for what waits.
    """

    shape: FoldShape

    def __init__(self, shape: FoldShape) -> None:
        super().__init__(shape.plan, shape)
        self.local = self.unrolled and not self.arrays
        self.half = f"{shape.past} * {self.width}"
        self.limit = {Numbers.INT64: CHECKED_BITS, Numbers.LIMBS: 62}.get(shape.numbers)

    def write(self) -> tuple[str, tuple[str, ...]]:
        put = self.text.put
        put("n = len(tick)")
        self.sizes()
        if not self.local:
            put(f"for i in range(2 * {self.half}):", f"{INDENT}nodes[i] = {self.zero}")
        with self.text.block("for b in range(len(row_start))"):
            put("heed_stop()", "row = row_start[b]", "end = row_end[b]", f"base = b * {self.half}")
            put(*(["seen = 0"] if self.limit else []), *(["limbs = first_limbs[b]"] if self.limbs else []))
            put(*(f"d{number} = {self.zero}" for number in self.numbers()))
            self.copy("{here} = {there}")
            with self.text.block("while row < end"):
                self.tick()
                if self.limit:
                    put(f"if seen >> {self.limit} != 0:", f"{INDENT}break")
            if self.limit:
                put(f"fits[b] = seen >> {self.limit} == 0")
            with self.text.block_if("fits[b]" if self.limit else None):
                self.copy("{there} = {here}")
        return write_loop("fold", self.text, NAMES, *self.functions())

    def sizes(self) -> None:
        """How many numbers vectors have."""
        put, shape = self.text.put, self.shape
        if self.limbs:
            put(f"bits = {LIMB_BITS}", "mask = (1 << bits) - 1", f"used_nodes = {2 * shape.past}")
        if self.arrays:
            put("used = 0", "low = 0", f"high = lanes = {shape.lines}", f"step = {lanes_of(shape.components)}")
            put("width = most_limbs * step" if self.limbs else "width = step")

    def numbers(self) -> list[str]:
        """The endings of the names of all local variables, in order."""
        if not self.local:
            return []
        return [self.number(q, k) for q in range(self.shape.past) for k in range(self.shape.components)]

    @staticmethod
    def number(q: int | str, k: int) -> str:
        """The ending of a local variable's name."""
        return f"{q}_{k}" if k else f"{q}"

    def copy(self, line: str) -> None:
        """A line for each number of a matrix."""
        for place, name in enumerate(self.numbers()):
            self.text.put(line.format(here=f"v{name}", there=f"results[base + {place}]"))
        if not self.local:
            with self.text.block(f"for i in range({self.half})"):
                self.text.put(line.format(here="nodes[i]", there="results[base + i]"))

    def tick(self) -> None:
        """The rows of one time. A row that is read once, and alone at its time, is added at once: each number is read
        before it is written."""
        put, shape, plan = self.text.put, self.shape, self.plan
        put("now = tick[row]")
        if not self.local:
            put("changed = False", f"later = {self.half}")
            if shape.words == 1 and len(set(plan.variable)) == shape.past and not shape.resets:
                put("readable = letters[row]")
                with self.text.block("if (row + 1 == end or tick[row + 1] != now) and readable & (readable - 1) == 0"):
                    put("later = 0")
        put(*(f"reset{number} = False" for number, _ in enumerate(shape.resets)))
        with self.text.block("while row < end and tick[row] == now"):
            put(*(["readable = letters[row]"] if shape.words == 1 else []))
            for q, block in self.over_states():
                with block:
                    self.vertex(q)
            for number, (_, variable) in enumerate(shape.resets):
                put(f"if {self.has_letter(variable)}:", f"{INDENT}reset{number} = True")
            put("row += 1")
        for number, (state, _) in enumerate(shape.resets):
            with self.text.block(f"if reset{number}"):
                if self.local:
                    put(*(f"v{self.number(state, k)} = {self.zero}" for k in range(shape.components)))
                else:
                    with self.text.block(f"for i in range({state} * {self.width}, {state + 1} * {self.width})"):
                        put(f"nodes[i] = {self.zero}")
        for place, name in enumerate(self.numbers()):
            put(self.add(f"v{name}", f"d{name}"), f"d{name} = {self.zero}")
            self.watch(f"v{name}", place % shape.components)
        if not self.local:
            with self.text.block("if changed and later != 0"):
                self.add_changes()

    def add_changes(self) -> None:
        """What waits is added."""
        with self.text.block(f"for i in range({self.half})"):
            self.text.put(self.add("nodes[i]", "nodes[later + i]"), f"nodes[later + i] = {self.zero}")
            self.watch("nodes[i]", 1)

    def over_states(self):
        """Every state: its number, and the block that its lines stand in."""
        if not self.unrolled:
            yield "q", self.text.block(f"for q in range({self.shape.past})")
            return
        for q in range(self.shape.past):
            yield str(q), self.text.block_if(None)

    def watch(self, number: str, k: int) -> None:
        if self.shape.numbers is Numbers.INT64:
            self.text.put(f"seen |= {number} ^ ({number} >> 63)" if k else f"seen |= {number}")

    def predecessors(self, q: str) -> tuple[list[tuple[str, StoreKind]], bool]:
        if not self.local:
            return super().predecessors(q)
        sources = self.plan.source[self.plan.incoming[int(q)] : self.plan.incoming[int(q) + 1]]
        for k in range(self.shape.components):
            numbers = [f"v{self.number(source, k)}" for source in sources] or [self.zero]
            largest = f"max({', '.join([self.zero, *numbers])})"
            self.text.put(f"x{k} = {' + '.join(numbers) if self.shape.sums else largest}")
        return [], True

    def look_up(self, t: str, s: str, step: StepKind, name: str) -> bool:
        source = "source[t]" if t == "t" else str(self.plan.source[int(t)])
        self.text.put(f"root{name} = {source} * {self.width}")
        return True

    def limits(self, q: str, packed: bool) -> tuple[str | None, str | None]:
        """Trends begin on the last line; which of them end is asked when all rows are known."""
        line = str(self.shape.lines - 1)
        if q == "q":
            line = "begin"
            self.text.put(f"begin = {self.shape.lines - 1} if start_guard[q] == {UNGUARDED} else {self.shape.lines}")
        elif self.plan.start[int(q)] == NOT_THERE:
            return None, None
        if not self.shape.lanes:
            return "begin == 0" if q == "q" else "", None
        return line if self.limbs else f"i >= {line}", None

    def begins_always(self, q: str) -> bool:
        """Or whether it does not matter: nothing is multiplied with what may be 0."""
        shape = self.shape
        if self.local and (shape.numbers in (Numbers.INT64, Numbers.EXACT) or (shape.sums and shape.components == 1)):
            return True
        return super().begins_always(q) and not shape.lanes

    def keep(self, q: str, places: list[str]) -> None:
        for k, place in enumerate(places):
            number = f"later + {q} * {self.width} + {place}"
            self.add_to(f"nodes[{number}]", f"x{k}")
            self.watch(f"nodes[{number}]", k)

    def wait(self, q: str) -> None:
        put = self.text.put
        if self.local:
            put(*(self.add(f"d{self.number(q, k)}", f"x{k}") for k in range(self.shape.components)))
            return
        put("changed = True")
        if self.limbs:
            with self.text.block("for i in range(limbs * step)"):
                put(f"nodes[later + {q} * width + i] += pending[i]")
        elif not self.arrays:
            self.keep(q, [str(k) for k in range(self.shape.components)])


def run_fold(
    shape: FoldShape, runs: tuple[np.ndarray, np.ndarray], rows: Rows, values: np.ndarray, numbers: np.ndarray,
    interpreted: bool, first_limbs: np.ndarray | None = None, most_limbs: int = 1,
) -> np.ndarray:  # fmt: skip
    """Fold runs of rows onto matrices, in place; whether each fits."""
    fits = np.ones(runs[0].size, np.bool_)
    text, takes = write_fold(shape)
    given = fold_arguments(takes, shape, rows, runs, values)
    size = shape.components * shape.lines * most_limbs
    given |= {name: np.zeros(2 * size, numbers.dtype) for name in ("pending", "result")}
    given |= {"nodes": np.zeros(2 * shape.past * size, numbers.dtype), "results": numbers.reshape(-1), "fits": fits}
    given |= {"first_limbs": first_limbs, "most_limbs": most_limbs}
    run_loop("fold", text, takes, given, interpreted)
    return fits


def fold_arguments(
    takes: tuple[str, ...], shape: FoldShape, rows: Rows, runs: tuple[np.ndarray, np.ndarray], values: np.ndarray
) -> dict[str, Any]:
    """What loops that fold take, by name: runs of rows, and the template for texts that do not write it out."""
    return plan_tables(shape.plan, takes) | {
        "row_start": make_writable(runs[0]), "row_end": make_writable(runs[1]), "tick": make_writable(rows.tick),
        "letters": make_writable(np.ascontiguousarray(rows.letters)).reshape(-1).view(np.int64),
        "values": make_writable(np.ascontiguousarray(values)).reshape(-1),
        "counted": np.array(shape.counted, np.int64).reshape(-1),
    }  # fmt: skip


# Matrices one after the other


@lru_cache(maxsize=256)
def write_apply(shape: FoldShape) -> tuple[str, tuple[str, ...]]:
    """The text of `apply`, and the names of what it takes.

    A queue of two stacks gives windows of many matrices. The newer ones are multiplied as they come. All that are there
    when an old one leaves for which no product is kept become old: `older` has the products of each of them and all
    behind it. So a matrix is multiplied twice, whatever the overlap. Of windows of few matrices, only the line of the
    empty past is multiplied. Windows are best sorted by their beginnings; those with the same one go on from it.
    """
    loop, text, parts, cells = Fold(shape), Text(), shape.components, shape.cells
    checked = shape.numbers is Numbers.INT64
    text.put("older_from = middle = reached = now = line = 0", *(["bad_before = 0", "bad = False"] if checked else []))
    with text.block("for w in range(len(low))"):
        text.put("heed_stop()")
        with text.block("if w == 0 or low[w] < older_from or low[w] > middle or high[w] < reached"):
            text.put(f"is_long = high[w] - low[w] > {SHORT_WINDOW * shape.lines}")
            text.put("older_from = low[w]", "middle = reached = high[w] if is_long else low[w]")
            text.put(f"line = 0 if is_long else {shape.past}", "now = 0")
            text.put(*(["bad_before = 0", "bad = False"] if checked else []))
            with text.block(f"for i in range({cells})"):
                text.put(f"newer[i] = older[(middle - older_from) * {cells} + i] = identity[i]")
            with text.block("for number in range(middle - 1, older_from - 1, -1)"):
                text.put(f"at = (number - older_from) * {cells}")
                text.put(f"bound = multiply(maps, number * {cells}, older, at + {cells}, older, at, 0)")
                if checked:
                    with text.block(f"if bound >= 2.0**{CHECKED_BITS} and bad_before == 0"):
                        text.put("bad_before = number + 1")
        with text.block("for number in range(reached, high[w])"):
            text.put(f"bound = multiply(newer, now, maps, number * {cells}, newer, {cells} - now, line)")
            text.put(f"now = {cells} - now", *([f"bad = bad or bound >= 2.0**{CHECKED_BITS}"] if checked else []))
        text.put("reached = high[w]", f"at = (low[w] - older_from) * {cells}")
        text.put(f"bound = multiply(older, at, newer, now, last, 0, {shape.lines - 1})")
        text.put(*(["seen = 0"] if checked else []))
        for part in range(parts):
            text.put(f"total = {loop.zero}")
            with text.block("for q in final"):
                text.put(loop.add("total", f"last[(q * {parts} + {part + 1}) * {shape.lines} - 1]"))
                text.put(*(["seen |= total ^ (total >> 63)"] if checked else []))
            with text.block_if("seen >> 62 == 0" if checked else None):
                text.put(f"results[w * {parts} + {part}] = total")
        if checked:
            fits = f"bound < 2.0**{CHECKED_BITS} and not bad and low[w] >= bad_before"
            text.put(f"fits[w] = {fits} and seen >> 62 == 0")
    return write_loop("apply", text, NAMES, _write_product(shape))


def _write_product(shape: FoldShape) -> str:
    """A matrix times another, from a line on; a bound of its numbers is given where they are checked. Numbers are not
    multiplied with 0: infinity times 0 is no number."""
    text, parts, lines, zero = Text(), shape.components, shape.lines, Fold(shape).zero
    checked = shape.numbers is Numbers.INT64
    text.put("@called")
    with text.block("def multiply(one, one_at, other, other_at, to, to_at, begin)"):
        text.put("most = 0.0")
        with text.block(f"for q in range({shape.past})"):
            for part in range(parts):
                after = f"other_at + (q * {parts} + {part}) * {lines}"
                with text.block(f"for i in range(begin, {lines})"):
                    text.put(f"x = other[{after} + i] if i == {shape.past} else {zero}")
                    text.put(*(["bound = 0.0"] if checked else []))
                    with text.block(f"for p in range({shape.past})"):
                        pairs = [(0, part)] if part == 0 else [(0, part), (part, 0)]
                        for left, right in [(part, part)] if shape.numbers is Numbers.LARGEST else pairs:
                            text.put(f"left = one[one_at + (p * {parts} + {left}) * {lines} + i]")
                            text.put(f"right = other[other_at + (q * {parts} + {right}) * {lines} + p]")
                            with text.block(f"if left != {zero} and right != {zero}"):
                                if shape.numbers is Numbers.LARGEST:
                                    text.put("x = max(x, left, right)")
                                else:
                                    text.put("x += left * right")
                                if checked:
                                    text.put("bound += abs(float(left) * float(right))")
                    text.put(f"to[to_at + (q * {parts} + {part}) * {lines} + i] = x")
                    text.put(*(["most = max(most, bound)"] if checked else []))
        text.put("return most")
    return str(text)


def run_apply(
    shape: FoldShape, maps: np.ndarray, bounds: tuple[np.ndarray, np.ndarray], results: np.ndarray, interpreted: bool
) -> np.ndarray:
    """Totals of windows, each the matrices low:high one after the other, into `results`; whether each fits."""
    low, high = bounds
    fits = np.ones(low.size, np.bool_)
    if not shape.lanes:  # what ends trends is all there is to read
        is_there = high > low
        results[~is_there] = NO_TREND if shape.numbers is Numbers.LARGEST else 0
        vectors = maps[low[is_there]]
        results[is_there] = sum_ends(shape, vectors)
        if shape.numbers is Numbers.INT64:  # of many states, that each of them fits is not enough
            fits[is_there] = np.abs(vectors.astype(np.float64)).sum(axis=1) < 2.0**62
        return fits
    text, takes = write_apply(shape)
    longest = int((high - low).max(initial=0))
    sizes = {"newer": 2, "last": 1, "older": (longest if longest > SHORT_WINDOW * shape.lines else 0) + 1}
    given = {name: np.zeros(size * shape.cells, results.dtype) for name, size in sizes.items()} | {
        "low": low, "high": high, "maps": make_writable(maps).reshape(-1), "results": results.reshape(-1),
        "fits": fits, "identity": shape.identity().astype(results.dtype, copy=False),
        "final": np.array(shape.plan.ends, np.int64),
    }  # fmt: skip
    run_loop("apply", text, takes, given, interpreted)
    return fits


def sum_ends(shape: FoldShape, vectors: np.ndarray) -> np.ndarray:
    """Totals of what ends trends, [run, component], of vectors of runs."""
    ends = vectors.reshape(-1, shape.past, shape.components)[:, shape.plan.ends]
    return ends.max(axis=1, initial=NO_TREND) if shape.numbers is Numbers.LARGEST else ends.sum(axis=1)


def fold_windows(
    shape: FoldShape, blocks: Blocks, rows: Rows, values: np.ndarray, results: np.ndarray, interpreted: bool
) -> np.ndarray:
    """Totals of all windows of blocks, into `results`; whether each fits. Where windows overlap, panes of rows that lie
    in the same windows are matrices."""
    if not shape.lanes:
        vectors = np.zeros((blocks.lanes.size, shape.cells), results.dtype)
        fits = run_fold(shape, (blocks.row_start, blocks.row_end), rows, values, vectors, interpreted)
        results[:] = sum_ends(shape, vectors)
        return fits
    begins = np.ones(rows.tick.size, np.bool_)
    begins[1:] = (rows.window_first[1:] != rows.window_first[:-1]) | (rows.window_last[1:] != rows.window_last[:-1])
    begins[rows.segment_starts[:-1][rows.segment_starts[:-1] < begins.size]] = True
    panes = np.flatnonzero(begins)
    of_blocks = np.searchsorted(panes, blocks.row_start), np.searchsorted(panes, blocks.row_end)
    fits = np.ones(len(results), np.bool_)
    parts = of_blocks[0] // max(1, MOST_NUMBERS // shape.cells)
    for chosen in np.split(np.arange(parts.size), np.flatnonzero(np.diff(parts)) + 1):
        own = np.arange(blocks.offset[chosen[0]], blocks.offset[chosen[-1] + 1])
        block = np.repeat(chosen, blocks.lanes[chosen])
        window = blocks.window[block] + own - blocks.offset[block]
        first, end = of_blocks[0][chosen[0]], of_blocks[1][chosen[-1]]
        starts = panes[first:end]
        ends = np.append(starts[1:], blocks.row_end[chosen[-1]])
        maps = np.empty((starts.size, shape.cells), results.dtype)
        maps[:] = shape.identity()
        fit = run_fold(shape, (starts, ends), rows, values, maps, interpreted)
        low, high = of_blocks[0][block] - first, of_blocks[1][block] - first
        low = find_first(rows.window_last[starts], low, high, window)
        high = find_first(rows.window_first[starts], low, high, window + 1)
        found = results[own]
        fits[own] = run_apply(shape, maps, (low, high), found, interpreted) & ~any_between(~fit, low, high)
        results[own] = found
    return fits


def any_between(flags: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Whether any flag between low and high is set."""
    counts = np.concatenate([[0], np.cumsum(flags)])
    return counts[high] > counts[low]
