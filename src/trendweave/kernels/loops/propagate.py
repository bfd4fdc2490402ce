"""The writer of `propagate`: one loop over the events of each window, or of several windows side by side.

A row read as a state makes a vertex. Its vector is the sum of the vectors of all vertices that it may follow, one more
trend where trends may begin, and what the row itself adds to the aggregates (GRETA, Section 4.2, Algorithm 2). Each
transition finds its sum in a store of its source state (A-Seq, Section 3.1, for the simplest one):

  running  one vector: everything so far
  queue    two stacks, whose oldest part leaves at a NOT: suffix sums of the older part, one sum of the newer part
  ranked   a Fenwick tree over the ranks of an order comparison, one tree per value of an equality, or both
  scan     a list, of which every vertex is looked at

Vectors are inserted once the tick is over: events of one time never follow each other. A vector has a number per
component and lane, component by component. Lanes are windows side by side (or queries and windows); without them
vectors are written as local variables. Numbers of the kind "limbs" are signed digits of so many bits, limb by limb in
place of the components, and take a further limb for all vectors when one asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from trendweave.kernels.inputs import Selection, Way
from trendweave.kernels.loops.plan import NOT_THERE, UNGUARDED, LoopPlan, StepKind, StoreKind
from trendweave.kernels.loops.text import Text

#: Transitions and states that are written one by one; more are gone over in a loop over tables.
MOST_UNROLLED = 16
FAR_BEFORE = -(2**62)
#: Bits of a product from which on it is too large.
LARGEST = "2.0**61"
_COMPARISONS = {"<": "{} < {}", "<=": "{} <= {}", ">": "{} > {}", ">=": "{} >= {}", "=": "{} == {}", "!=": "{} != {}"}


class Numbers(StrEnum):
    """What vectors hold."""

    EXACT = "exact"  # Python's integers: interpreted only
    INT64 = "int64"  # checked: blocks whose numbers do not fit are told
    LIMBS = "limbs"
    FLOAT64 = "float64"
    LARGEST = "largest"  # the largest value so far, as a code
    LATEST = "latest"  # the latest time at which a trend began


@dataclass(frozen=True)
class Shape:
    """What else the text of a loop depends on.

    `counted` says per component beside the first (per component, for the largest) and state whether the state's rows
    count; with queries side by side masks say it.
    """

    numbers: Numbers
    components: int
    counted: tuple[tuple[bool, ...], ...]
    selection: Selection
    words: int = 1  # of a variable mask
    lanes: bool = False
    queries: bool = False
    digits: int = 1  # of a value that is multiplied with limbs
    per_row: bool = False  # the best of each row is wanted
    packs: bool = False  # lanes are gone over eight at a time, in vector registers (`kernels.packs`): compiled only

    @property
    def sums(self) -> bool:
        """Whether vectors are added, and not compared."""
        return self.numbers not in (Numbers.LARGEST, Numbers.LATEST)

    @property
    def values(self) -> int:
        """Number of the first component that rows add to."""
        return 1 if self.sums else 0


def write_propagate(plan: LoopPlan, shape: Shape) -> tuple[str, tuple[str, ...]]:
    """The text of a loop, and the names of what it takes."""
    return _Writer(plan, shape).write()


_CARRY = '''
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
_PRELUDE_LIMBS = '''
@called
def clear(array, count, width, begin, length):
    """The part [begin, begin + length) of so many vectors becomes 0."""
    for number in range(count):
        for i in range(number * width + begin, number * width + begin + length):
            array[i] = 0


@called
def any_in(vector, begin, end):
    """Whether any number is not 0."""
    for i in range(begin, end):
        if vector[i] != 0:
            return True
    return False
'''


class _Writer:
    def __init__(self, plan: LoopPlan, shape: Shape) -> None:
        self.plan, self.shape = plan, shape
        self.text = Text()
        self.used = dict[str, None]()
        self.unrolled = max(len(plan.step), len(plan.variable), len(plan.store_kind)) <= MOST_UNROLLED
        self.arrays = shape.lanes or shape.numbers is Numbers.LIMBS
        self.limbs = shape.numbers is Numbers.LIMBS
        self.zero = {"float64": "0.0", "largest": "NO_TREND", "latest": "NO_TREND"}.get(shape.numbers, "0")

    # What stands for what

    def use(self, name: str) -> str:
        """An array or number that the loop takes."""
        self.used[name] = None
        return name

    def at(self, name: str, index: str) -> str:
        """An entry of an array that the loop takes."""
        return f"{self.use(name)}[{index}]"

    @cached_property
    def has_lists(self) -> bool:
        return any(kind.is_listed for kind in self.plan.kinds)

    def matrix(self, name: str, number: int | str, row: str) -> str:
        """An entry of a matrix whose rows are columns of events."""
        return self.at(name, row if number == 0 else f"{number} * n + {row}")

    def add(self, target: str, source: str) -> str:
        return f"{target} += {source}" if self.shape.sums else f"{target} = max({target}, {source})"

    def each(self, line: str, low: str = "low", high: str = "high", mask: str | None = None) -> None:
        """A line for every number of a vector, or of some lanes: `{x}` is the vector at hand, `{o}` the place in one.
        A mask says for which queries."""
        if not self.arrays:
            for k in range(self.shape.components):
                self.text.put(line.format(x=f"x{k}", o=k if k else "0").replace(" + 0]", "]"))
            return
        if self.shape.packs and mask is None and high == "high" and "-=" not in line:
            self.each_pack(line)
            return
        with self.over_components(f"for i in range({low}, {high})") as offsets:
            with self.text.block_if(None if mask is None else f"{mask} >> {self.at('query', 'i')} & 1"):
                self.text.put(*(line.format(x=f"pending[at + {o}]", o=o) for o in offsets))

    def each_pack(self, line: str) -> None:
        """The same eight lanes at a time: all of them that the row is in, and others that hold nothing."""
        target, operator, source = re.split(" ([+]?=) ", line.format(x="pending[at + {o}]", o="{o}"))
        if source.startswith("max("):
            operator, source = "max", source.removeprefix("max(").removesuffix(")").split(", ")[1]
        with self.over_components("for i in range(low & -8, high, 8)") as offsets:
            for o in offsets:
                value = "nothing" if source == self.zero else f"load(nothing, {self.place(source, o)})"
                if operator != "=":
                    before = f"load(nothing, {self.place(target, o)})"
                    value = f"{self.plus}({before}, {value})"
                self.text.put(f"store({self.place(target, o)}, {value})")

    @staticmethod
    def place(entry: str, offset: str) -> str:
        """An entry of an array as two arguments."""
        return entry.replace("[", ", ").removesuffix("]").format(o=offset)

    @property
    def plus(self) -> str:
        """What adds packs."""
        return "add" if self.shape.sums else "larger"

    @contextmanager
    def over_components(self, header: str) -> Iterator[list[str]]:
        """A loop over lanes `i`; what is found are the places of all components in a vector."""
        if self.limbs:
            lanes = "lanes" if self.shape.lanes else "1"
            with self.text.block(f"for c in range(0, limbs * {self.shape.components} * {lanes}, {lanes})"):
                with self.text.block(header):
                    yield ["c + i"]
            return
        with self.text.block(header):
            yield ["i", "lanes + i", *(f"{k} * lanes + i" for k in range(2, self.shape.components))][
                : self.shape.components
            ]

    def x(self, component: int) -> str:
        """A component of the vector at hand; in lane i, with lanes."""
        if not self.arrays:
            return f"x{component}"
        at = {0: "at + i", 1: "at + lanes + i"}.get(component, f"at + {component} * lanes + i")
        return f"pending[{at}]"

    # The loop

    def write(self) -> tuple[str, tuple[str, ...]]:
        self.blocks()
        body = str(self.text)
        takes = tuple(self.used)
        head = Text()
        if self.limbs:
            for function in (_CARRY_IN_PACKS if self.shape.packs else _CARRY, _PRELUDE_LIMBS):
                head.put(*function.strip("\n").split("\n"), "", "")
        head.put("NO_TREND = -(2**63)", "NO_VALUE = NO_TREND + 1", "", "")
        head.put("@loop")
        with head.block(f"def propagate({', '.join(takes)})"):
            indented = [f"    {line}" if line else "" for line in body.rstrip("\n").split("\n")]
        return str(head).rstrip().removesuffix("pass").rstrip() + "\n" + "\n".join(indented) + "\n", takes

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
                put("limbs = 1", f"width = {self.use('most_limbs')} * {shape.components} * lanes")
            elif shape.lanes:
                put(f"width = {shape.components} * lanes")
            self.empty_stores()
            self.empty_result()
            if not self.unrolled:
                put(f"reach = {self.at('furthest', str(len(plan.variable)))}")
            put("row = row_start[b]")
            with self.text.block("while row < end"):
                put("heed_stop()", "now = tick[row]")
                if plan.kinds:
                    put("used = 0")
                elif self.arrays:
                    put("used = 0")
                self.tick()
            self.write_results()

    def empty_stores(self) -> None:
        """The stores of a new block."""
        put, plan, shape = self.text.put, self.plan, self.shape
        if not plan.kinds:
            return
        put("used_nodes = 0")
        methods = {kind.method for kind in plan.kinds}
        lists = self.has_lists
        for s, put_for in self.over_stores():
            with put_for:
                for kind, block in self.dispatch_kind(s):
                    with block:
                        if kind.method is not Way.SCAN:
                            put(f"{self.at('start', s)} = used_nodes * {self.width}")
                            if kind.method is Way.RANKED:
                                put(f"used_nodes += {self.at(f'nodes_{kind.ranking}', 'b')}")
                            else:
                                put("used_nodes += 1")
                if lists:
                    put(f"{self.at('head', s)} = {self.at('turn', s)} = {self.at('tail', s)} = 0")
                if shape.selection is Selection.CONTIGUOUS:
                    put(f"{self.at('last_tick', s)} = {FAR_BEFORE}")
        if methods != {Way.SCAN}:
            if self.arrays and self.limbs:
                self.use("nodes")
                put(f"clear(nodes, used_nodes, width, 0, {shape.components} * lanes)")
            else:
                with self.text.block(f"for i in range(used_nodes * {self.width})"):
                    put(f"{self.at('nodes', 'i')} = {self.zero}")
        if any(self.needs_reading(step) for step in plan.steps):
            with self.text.block(f"for t in range({len(plan.step)})"):
                put(f"{self.at('reading', 't')} = 0")
        if shape.selection is Selection.NEXT:
            with self.text.block(f"for q in range({len(plan.variable)})"):
                put(f"{self.at('followed', 'q')} = 0")

    def empty_result(self) -> None:
        if not self.arrays:
            self.text.put(*(f"total{k} = {self.zero}" for k in range(self.shape.components)))
            return
        with self.text.block(f"for i in range({self.shape.components} * lanes)"):
            self.text.put(f"{self.at('result', 'i')} = {self.zero}")

    @property
    def width(self) -> str:
        """Numbers of a vector."""
        return "width" if self.arrays else str(self.shape.components)

    def over_stores(self):
        """Every store: its number, and the block that its lines stand in."""
        if self.unrolled:
            for s in range(len(self.plan.store_kind)):
                yield str(s), self.text.block_if(None)
        else:
            yield "s", self.text.block(f"for s in range({len(self.plan.store_kind)})")

    def dispatch_kind(self, s: str):
        """The kinds that a store may be of, and the block that lines for it stand in."""
        if self.unrolled:
            yield self.plan.kinds[self.plan.store_kind[int(s)]], self.text.block_if(None)
            return
        for number, kind in enumerate(self.plan.kinds):
            asked = None if len(self.plan.kinds) == 1 else f"{self.at('store_kind', s)} == {number}"
            yield kind, self.text.block_if(asked)

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

    def state(self, name: str, q: str) -> str:
        """What a table says of a state."""
        if q == "q":
            return self.at(name, "q")
        return str(getattr(self.plan, name)[int(q)])

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
        if shape.queries:
            put(f"mine = {self.matrix('accepted', q if q == 'q' else int(q), 'row')}")
        with self.text.block(f"if {self.reads(q)}"):
            if self.arrays:
                self.use("pending")
                put("at = used * width")
            self.each(f"{{x}} = {self.zero}")
            self.predecessors(q)
            if shape.packs:  # of earlier windows, which the row is not in
                with self.over_components("for i in range(low & -8, low)") as offsets:
                    put(*(f"pending[at + {o}] = {self.zero}" for o in offsets))
            if shape.queries:
                with self.text.block("if mine != everyone"):
                    self.each(f"{{x}} = {self.zero}", mask="~mine")
            self.begin(q)
            self.finish(q)

    # The sum over predecessors

    def predecessors(self, q: str) -> None:
        plan = self.plan
        if q != "q":
            for t in range(plan.incoming[int(q)], plan.incoming[int(q) + 1]):
                self.read(str(t), str(plan.store[t]), plan.steps[plan.step[t]])
            return
        with self.text.block(f"for t in range({self.at('incoming', 'q')}, {self.at('incoming', 'q + 1')})"):
            self.text.put(f"s = {self.at('store', 't')}")
            for number, step in enumerate(plan.steps):
                asked = None if len(plan.steps) == 1 else f"{self.at('step', 't')} == {number}"
                with self.text.block_if(asked):
                    self.read("t", "s", step)

    def read(self, t: str, s: str, step: StepKind) -> None:
        """The vector at hand += what the row may follow along a transition."""
        put, shape, kind = self.text.put, self.shape, step.store
        if kind.method is Way.SCAN:
            self.scan(t, s, step)
            return
        if shape.selection is Selection.NEXT:
            source = self.at("source", t) if t == "t" else str(self.plan.source[int(t)])
            followed = self.at("followed", source)
            put(f"{followed} |= mine & {self.at('transition_mask', t)}" if shape.queries else f"{followed} = 1")
        asked = f"{self.at('last_tick', s)} == now - 1" if shape.selection is Selection.CONTIGUOUS else None
        with self.text.block_if(asked):
            if kind.guard is not None:
                self.drop(s, kind)
            if kind.method is Way.RANKED:
                self.read_ranked(s, kind)
                return
            put(f"node = {self.at('start', s)}")
            self.each(self.add("{x}", f"{self.use('nodes')}[node + {{o}}]"))
            if kind.method is Way.QUEUE:
                with self.text.block(f"if {self.at('head', s)} < {self.at('turn', s)}"):
                    put(f"old = ({self.list_at(s)} + head[{s}]) * {self.width}")
                    self.each(self.add("{x}", f"{self.use('vectors')}[old + {{o}}]"))

    def list_at(self, s: str) -> str:
        """Where the list of a store begins."""
        if s == "s":
            return f"{self.at('listed', 's')} * capacity"
        number = self.plan.lists[int(s)]
        return {0: "0", 1: "capacity"}.get(number, f"{number} * capacity")

    def places(self, kind: StoreKind, name: str, place: str) -> str:
        return self.at(f"{name}_{kind.ranking}", place)

    def read_ranked(self, s: str, kind: StoreKind) -> None:
        put = self.text.put
        assert kind.ranking is not None
        ranking = self.plan.rankings[kind.ranking]
        put(f"j = {self.places(kind, 'bound', 'shift + row')}")
        with self.text.block("if j > 0"):
            node = self.at("start", s)
            if ranking.equal is not None:
                node += f" + {self.places(kind, 'from', 'shift + row')} * {self.width}"
            if ranking.order is None:
                put(f"node = {node}")
                self.each(self.add("{x}", f"{self.use('nodes')}[node + {{o}}]"))
                return
            put(f"tree = {node} - {self.width}")
            if self.shape.packs:
                self.read_tree_in_packs()
                return
            with self.text.block("while j > 0"):
                if self.width == "1":
                    self.each(self.add("{x}", f"{self.use('nodes')}[tree + j]"))
                else:
                    put(f"node = tree + j * {self.width}")
                    self.each(self.add("{x}", f"{self.use('nodes')}[node + {{o}}]"))
                put("j &= j - 1")

    def read_tree_in_packs(self) -> None:
        """The sum of a prefix of ranks stays in a register for each pack."""
        put = self.text.put
        with self.over_components("for i in range(low & -8, high, 8)") as offsets:
            for o in offsets:
                put(f"x = load(nothing, pending, at + {o})", "k = j")
                with self.text.block("while k > 0"):
                    put(f"x = {self.plus}(x, load(nothing, {self.use('nodes')}, tree + k * width + {o}))", "k &= k - 1")
                put(f"store(pending, at + {o}, x)")

    def add_to_tree_in_packs(self) -> None:
        """A pack of the vector at hand is added to all nodes that its rank is in."""
        put = self.text.put
        with self.over_components("for i in range(low & -8, high, 8)") as offsets:
            for o in offsets:
                put(f"x = load(nothing, pending, at + {o})", "k = j")
                with self.text.block("while k <= size"):
                    put(f"node = tree + k * width + {o}")
                    put(f"store(nodes, node, {self.plus}(load(nothing, nodes, node), x))", "k += k & -k")

    def walk_tree(self, s: str, kind: StoreKind, place: str, line: str, low: str = "low", high: str = "high") -> None:
        """A line for each node of a tree that a rank is in."""
        put = self.text.put
        assert kind.ranking is not None
        ranking = self.plan.rankings[kind.ranking]
        node = self.at("start", s)
        if ranking.equal is not None:
            node += f" + {self.places(kind, 'base', place)} * {self.width}"
        if ranking.order is None:
            put(f"node = {node}")
            self.each(line, low, high)
            return
        size = self.places(kind, "size", place) if ranking.equal is not None else f"nodes_{kind.ranking}[b]"
        put(f"tree = {node} - {self.width}", "j = rank + 1")
        put(f"size = {size}")
        if self.shape.packs and "-=" not in line:
            self.add_to_tree_in_packs()
            return
        with self.text.block("while j <= size"):
            put(f"node = tree + j * {self.width}" if self.width != "1" else "node = tree + j")
            self.each(line, low, high)
            put("j += j & -j")

    def drop(self, s: str, kind: StoreKind) -> None:
        """Vertices before a NOT leave for good."""
        put = self.text.put
        self.use("list_rows"), self.use("vectors"), self.use("nodes")
        put(f"threshold = {self.matrix('guards', kind.guard or 0, 'row')}", f"position = {self.at('head', s)}")
        with self.text.block(
            f"while position < {self.at('tail', s)} and tick[list_rows[{self.list_at(s)} + position]] < threshold"
        ):
            if kind.method is Way.RANKED:
                put(f"earlier = list_rows[{self.list_at(s)} + position]")
                put(f"rank = {self.places(kind, 'rank', 'shift + earlier')}")
                put(f"old = ({self.list_at(s)} + position) * {self.width}")
                low, high = "low", "high"
                if self.shape.lanes:
                    put("first = max(window_first[earlier] - window, 0)")
                    put("last = min(window_last[earlier] - window + 1, here)")
                    low, high = "first", "last"
                self.walk_tree(s, kind, "shift + earlier", "nodes[node + {o}] -= vectors[old + {o}]", low, high)
            put("position += 1")
        put(f"head[{s}] = position")
        if kind.method is Way.QUEUE:
            with self.text.block(f"if position > {self.at('turn', s)}"):
                with self.text.block(f"for p in range(tail[{s}] - 2, position - 1, -1)"):
                    put(f"old = ({self.list_at(s)} + p) * {self.width}")
                    self.whole(self.add("vectors[old + {o}]", f"vectors[old + {self.width} + {{o}}]"))
                put(f"node = {self.at('start', s)}")
                self.whole(f"nodes[node + {{o}}] = {self.zero}")
                put(f"turn[{s}] = tail[{s}]")

    def whole(self, line: str) -> None:
        """A line for every number of a vector that is in use."""
        if not self.arrays:
            self.each(line)
            return
        end = f"limbs * {self.shape.components} * lanes" if self.limbs else "width"
        with self.text.block(f"for i in range({end})"):
            self.text.put(line.format(o="i"))

    def needs_reading(self, step: StepKind) -> bool:
        """Whether scans of a transition begin later and later: thresholds and windows only move on."""
        if step.store.method is not Way.SCAN or self.shape.selection is Selection.NEXT:
            return False
        return step.guard is not None or self.shape.selection is Selection.CONTIGUOUS or self.shape.lanes

    def scan(self, t: str, s: str, step: StepKind) -> None:
        """The vector at hand += every vertex in the list that meets the conditions of a transition."""
        put, shape = self.text.put, self.shape
        self.use("list_rows"), self.use("vectors")
        next_only = shape.selection is Selection.NEXT
        if step.guard is not None:
            put(f"threshold = {self.matrix('guards', step.guard, 'row')}")
        put(f"p = {self.list_at(s)}", f"stop = p + {self.at('tail', s)}")
        if self.needs_reading(step):
            limits = []
            if step.guard is not None:
                limits.append("tick[list_rows[p]] < threshold")
            if shape.selection is Selection.CONTIGUOUS:
                limits.append("tick[list_rows[p]] < now - 1")
            if shape.lanes:
                limits.append("window_last[list_rows[p]] < window_first[row]")
            put(f"p += {self.at('reading', t)}")
            with self.text.block(f"while p < stop and ({' or '.join(limits)})"):
                put("p += 1")
            put(f"reading[{t}] = p - {self.list_at(s)}")
        tests = []
        for number, (slot, operator, column) in enumerate(step.tests):
            put(f"code{number} = {self.matrix('codes', column, 'row')}")
            earlier = self.at("list_codes", "p" if slot == 0 else f"{slot} * len(list_rows) + p")
            if operator in ("<", "<=", "!="):
                tests.append(f"({earlier} >= 0)")
            tests.append(f"({_COMPARISONS[operator].format(earlier, f'code{number}')})")
        known = " and ".join(f"code{number} >= 0" for number in range(len(step.tests)))
        with self.text.block_if(known or None):
            with self.text.block("for p in range(p, stop)"):
                with self.text.block_if(" & ".join(tests) or None):
                    if step.pair is not None:
                        number, previous, following = step.pair
                        put("earlier = list_rows[p]")
                        put(
                            f"line = {self.at('answers_from', str(number))}"
                            f" + {self.matrix('codes', previous, 'earlier')} * {self.at('answers_width', str(number))}"
                        )
                        answer = self.at("answers", f"line + {self.matrix('codes', following, 'row')}")
                    with self.text.block_if(None if step.pair is None else f"{answer} != 0"):
                        if next_only:
                            mark = f"mine & {self.at('transition_mask', t)}" if shape.queries else "1"
                            put(f"{self.at('accepted_now', 'p')} |= {mark}")
                        late = next_only and step.guard is not None
                        with self.text.block_if("tick[list_rows[p]] >= threshold" if late else None):
                            self.add_listed(t)

    def add_listed(self, t: str) -> None:
        put, shape = self.text.put, self.shape
        put(f"old = p * {self.width}" if self.width != "1" else "old = p")
        line = self.add("{x}", "vectors[old + {o}]")
        if not shape.queries:
            self.each(line)
            return
        put(f"readers = {self.at('transition_mask', t)}")
        with self.text.block("if readers == -1"):
            self.each(line)
        with self.text.block("else"):
            self.each(line, mask="readers")

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
                numbers = f"load(nothing, pending, at + {k} * lanes + i)"
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
                at = "at + i" if k == 0 else f"at + {k} * lanes + i"
                if self.shape.sums:
                    product = "times(load(nothing, pending, at + i), value)"
                    self.text.put(f"store(pending, {at}, add(load(nothing, pending, {at}), {product}))")
                else:
                    self.text.put(f"store(pending, {at}, raise_others(load(nothing, pending, {at}), value, NO_TREND))")

    def finish_limbs(self, q: str) -> None:
        """Carry, and multiply with the digits of values; `grown` is 0 where one more limb is needed than there are."""
        put, shape = self.text.put, self.shape
        put(f"step = {shape.components} * lanes")
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
                self.settle(f"at + {k} * lanes")
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
                    put(f"to = at + {k} * lanes + (limb + {digit}) * step")
                    with self.text.block("for i in range(low, high)"):
                        mask = f"counts >> {self.at('query', 'i')} & 1" if shape.queries else None
                        with self.text.block_if(mask):
                            put("pending[to + i] += value * pending[come + i]")
                put("limb += 1")
            self.settle(f"at + {k} * lanes")

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

    # Stores

    def insert(self) -> None:
        """Put the vertices that wait into the stores of their states."""
        put, shape, plan = self.text.put, self.shape, self.plan
        with self.text.block("for number in range(used)"):
            put("late = waiting_row[number]")
            if shape.lanes:
                put("low = waiting_low[number]", "high = waiting_high[number]")
            if self.arrays:
                put("at = number * width")
            elif shape.components == 1:
                put("x0 = pending[number]")
            else:
                put(f"at = number * {shape.components}")
                put(*(f"x{k} = pending[{f'at + {k}' if k else 'at'}]" for k in range(shape.components)))
            if len(plan.variable) > 1:
                put("q = waiting_state[number]")
            if not self.unrolled:
                with self.text.block("for s in range(outgoing[q], outgoing[q + 1])"):
                    for kind, block in self.dispatch_kind("s"):
                        with block:
                            self.insert_into("s", kind)
                put(f"reach = max(reach, {self.at('furthest', 'q')})")
                return
            for q in range(len(plan.variable)):
                stores = range(plan.outgoing[q], plan.outgoing[q + 1])
                if not stores:
                    continue
                with self.text.block_if(f"q == {q}" if len(plan.variable) > 1 else None):
                    for s in stores:
                        self.insert_into(str(s), plan.kinds[plan.store_kind[s]])

    def insert_into(self, s: str, kind: StoreKind) -> None:
        put, shape = self.text.put, self.shape
        if not shape.queries:
            self.insert_vector(s, kind)
            return
        # A copy of the vector for the queries that read the store.
        put(f"readers = {self.at('store_mask', s)}", "at = number * width")
        with self.text.block("if readers != -1"):
            put("at = used * width")
            self.each("{x} = pending[number * width + {o}]")
            self.each(f"{{x}} = {self.zero}", mask="~readers")
        self.insert_vector(s, kind)

    def insert_vector(self, s: str, kind: StoreKind) -> None:
        put, shape = self.text.put, self.shape
        if kind.method is Way.RANKED:
            put(f"rank = {self.places(kind, 'rank', 'shift + late')}")
            with self.text.block("if rank >= 0"):
                self.walk_tree(s, kind, "shift + late", self.add(f"{self.use('nodes')}[node + {{o}}]", "{x}"))
                if kind.guard is not None:
                    self.append(s, kind)
            return
        if kind.method is not Way.SCAN:
            put(f"node = {self.at('start', s)}")
            if shape.selection is Selection.CONTIGUOUS:
                with self.text.block(f"if last_tick[{s}] != now"):
                    self.empty(s, kind)
                put(f"last_tick[{s}] = now")
            self.each(self.add(f"{self.use('nodes')}[node + {{o}}]", "{x}"))
        if kind.is_listed:
            self.append(s, kind)

    def append(self, s: str, kind: StoreKind) -> None:
        """The vector becomes the last one of a list."""
        put, shape = self.text.put, self.shape
        put(f"p = {self.list_at(s)} + {self.at('tail', s)}", f"tail[{s}] += 1")
        put(f"{self.at('list_rows', 'p')} = late", f"old = p * {self.width}" if self.width != "1" else "old = p")
        for slot, column in enumerate(kind.slots):
            index = "p" if slot == 0 else f"{slot} * len(list_rows) + p"
            put(f"{self.at('list_codes', index)} = {self.matrix('codes', column, 'late')}")
        if shape.selection is Selection.NEXT and kind.method is Way.SCAN:
            put(f"{self.at('accepted_now', 'p')} = 0")
        self.use("vectors")
        if self.arrays:
            self.whole(f"vectors[old + {{o}}] = {self.zero}")
        self.each("vectors[old + {o}] = {x}")

    def empty(self, s: str, kind: StoreKind) -> None:
        """A running or queued store forgets everything."""
        self.text.put(f"node = {self.at('start', s)}")
        self.whole(f"{self.use('nodes')}[node + {{o}}] = {self.zero}")
        if kind.method is Way.QUEUE:
            self.text.put(f"{self.at('head', s)} = {self.at('turn', s)} = {self.at('tail', s)}")

    # Skip-till-next-match

    def forget_followed(self) -> None:
        """Vertices that were followed at this time connect to nothing later."""
        put, plan = self.text.put, self.plan
        for s, block in self.over_stores():
            with block:
                q = self.at("store_source", "s") if s == "s" else str(plan.store_source[int(s)])
                for kind, dispatched in self.dispatch_kind(s):
                    with dispatched:
                        if kind.method is Way.SCAN:
                            self.forget_listed(s, q, kind)
                            continue
                        with self.text.block(f"if {self.at('followed', q)} != 0"):
                            self.forget_store(s, q, kind)
        if any(kind.method is not Way.SCAN for kind in plan.kinds):
            with self.text.block(f"for q in range({len(plan.variable)})"):
                put("followed[q] = 0")

    def forget_store(self, s: str, q: str, kind: StoreKind) -> None:
        put = self.text.put
        if not self.shape.queries:
            self.empty(s, kind)
            return
        put(f"gone = followed[{q}]", f"everybody = {self.at('here_mask', q)}")
        with self.text.block("if gone & everybody == everybody"):
            self.empty(s, kind)
        with self.text.block("else"):
            put(f"node = {self.at('start', s)}")
            self.each(f"nodes[node + {{o}}] = {self.zero}", "0", "lanes", "gone")
            if kind.method is Way.QUEUE:
                with self.text.block(f"for p in range({self.at('head', s)}, {self.at('tail', s)})"):
                    put(f"old = ({self.list_at(s)} + p) * width")
                    self.each(f"{self.use('vectors')}[old + {{o}}] = {self.zero}", "0", "lanes", "gone")

    def forget_listed(self, s: str, q: str, kind: StoreKind) -> None:
        put, shape = self.text.put, self.shape
        self.use("list_rows"), self.use("vectors")
        put(f"kept = {self.list_at(s)}")
        with self.text.block(f"for p in range(kept, kept + {self.at('tail', s)})"):
            put(f"gone = {self.at('accepted_now', 'p')}")
            if shape.queries:
                put(f"everybody = {self.at('here_mask', q)}")
                stays = "gone & everybody != everybody"
            else:
                stays = "gone == 0"
            with self.text.block(f"if {stays}"):
                if shape.queries:
                    put("old = p * width")
                    with self.text.block("if gone != 0"):
                        self.each(f"vectors[old + {{o}}] = {self.zero}", "0", "lanes", "gone")
                with self.text.block("if kept < p"):
                    put("list_rows[kept] = list_rows[p]", "accepted_now[kept] = gone")
                    for slot in range(len(kind.slots)):
                        shift = f"{slot} * len(list_rows) + " if slot else ""
                        put(f"{self.use('list_codes')}[{shift}kept] = list_codes[{shift}p]")
                    put(f"old = p * {self.width}", f"new = kept * {self.width}")
                    self.whole("vectors[new + {o}] = vectors[old + {o}]")
                put("kept += 1")
        put(f"tail[{s}] = kept - {self.list_at(s)}" if self.list_at(s) != "0" else f"tail[{s}] = kept")

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
            put(f"to = {self.at('offset', 'b')} * {numbers}")
            with self.text.block(f"for c in range({'limbs * ' if self.limbs else ''}{shape.components})"):
                with self.text.block(f"for i in range({'here' if shape.lanes else '1'})"):
                    put(f"results[to + i * {numbers} + c] = result[c * lanes + i]")
