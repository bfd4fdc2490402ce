"""Stores of a loop: what a state keeps of its vertices, how it is read, filled and emptied.

running  one vector: everything so far (A-Seq, Section 3.1)
queue    two stacks, whose oldest part leaves at a NOT: suffix sums of the older part, one sum of the newer part
ranked   a Fenwick tree over the ranks of an order comparison, one tree per value of an equality, or both
scan     a list, of which every vertex is looked at (GRETA, Section 4.2, Algorithm 2)
"""

from __future__ import annotations

from trendweave.kernels.inputs import Selection, Way
from trendweave.kernels.loops.plan import StepKind, StoreKind
from trendweave.kernels.loops.vectors import Vectors, lanes_of

FAR_BEFORE = -(2**62)
_COMPARISONS = {"<": "{} < {}", "<=": "{} <= {}", ">": "{} > {}", ">=": "{} >= {}", "=": "{} == {}", "!=": "{} != {}"}


class Stores(Vectors):
    """The parts of a loop that read and write stores."""

    def empty_stores(self) -> None:
        """The stores of a new block."""
        put, plan, shape = self.text.put, self.plan, self.shape
        if not plan.kinds:
            return
        put("used_nodes = 0")
        methods = {kind.method for kind in plan.kinds}
        lists = self.has_lists
        for s in self.stores():
            for kind in self.kinds_of(s):
                if kind.method is not Way.SCAN:
                    put(f"start[{s}] = used_nodes * {self.width}")
                    put(f"used_nodes += nodes_{kind.ranking}[b]" if kind.method is Way.RANKED else "used_nodes += 1")
            if lists:
                put(f"head[{s}] = turn[{s}] = tail[{s}] = 0")
            if shape.selection is Selection.CONTIGUOUS:
                put(f"last_tick[{s}] = {FAR_BEFORE}")
        if methods != {Way.SCAN}:
            if self.arrays and self.limbs:
                put(f"clear(nodes, used_nodes, width, 0, {lanes_of(shape.components)})")
            else:
                with self.text.block(f"for i in range(used_nodes * {self.width})"):
                    put(f"nodes[i] = {self.zero}")
        if any(self.needs_reading(step) for step in plan.steps):
            with self.text.block(f"for t in range({len(plan.step)})"):
                put("reading[t] = 0")
        if shape.selection is Selection.NEXT:
            with self.text.block(f"for q in range({len(plan.variable)})"):
                put("followed[q] = 0")

    # The sum over predecessors

    def predecessors(self, q: str) -> tuple[list[tuple[str, StoreKind]], bool]:
        """Look up all that a row may follow. With lanes, what can be summed lane by lane is left to `sum_read`.

        Returns:
            Those stores, with the endings of the names that they were looked up under; and whether the vector at hand
            holds what others have.
        """
        plan, places = self.plan, [str(k) for k in range(self.shape.components)]
        if q == "q":
            self.each("x", "=", self.zero)
            with self.text.block("for t in range(incoming[q], incoming[q + 1])"):
                self.text.put("s = store_of[t]")
                for number, step in enumerate(plan.steps):
                    asked = None if len(plan.steps) == 1 else f"step_kind[t] == {number}"
                    with self.text.block_if(asked):
                        if self.look_up("t", "s", step, ""):
                            self.gather([("", step.store)], True)
            return [], True
        transitions = range(plan.incoming[int(q)], plan.incoming[int(q) + 1])
        steps = {t: plan.steps[plan.step[t]] for t in transitions}
        held = not self.arrays or any(step.store.method is Way.SCAN for step in steps.values())
        if held:
            self.each("x", "=", self.zero)
        reads = list[tuple[str, StoreKind]]()
        for t in sorted(steps, key=lambda t: steps[t].store.method is not Way.SCAN):
            name = str(len(reads)) if reads else ""
            if not self.look_up(str(t), str(plan.store[t]), steps[t], name):
                continue
            if self.arrays:
                reads.append((name, steps[t].store))
            else:
                self.sum_read(name, steps[t].store, places)
        return reads, held

    def gather(self, reads: list[tuple[str, StoreKind]], held: bool) -> None:
        """The vector at hand becomes the sum of what was looked up, and of what it holds."""
        with self.over_lanes(self.shape.packs) as lane, self.over_limbs(lane) as places:
            self.sum_reads(reads, held, places)
            if self.packed:  # on lanes of windows that the row is not in there is nothing
                self.text.put(*(f"x{k} = put_between(x{k}, i, low, high, nothing)" for k in range(len(places))))
            if self.arrays:
                for k, place in enumerate(places):
                    self.set(f"pending[at + {place}]", f"x{k}")

    def sum_reads(self, reads: list[tuple[str, StoreKind]], held: bool, places: list[str]) -> None:
        """Local variables become the sum of what was looked up, and of what the vector at hand holds."""
        if self.arrays:
            for k, place in enumerate(places):
                nothing = "nothing" if self.packed else self.zero
                self.text.put(f"x{k} = {self.get(f'pending[at + {place}]') if held else nothing}")
        for name, kind in reads:
            self.sum_read(name, kind, places)

    def look_up(self, t: str, s: str, step: StepKind, name: str) -> bool:
        """Find where the sum of what a row may follow along a transition lies; a list is gone over at once.

        Returns:
            Whether something is left to be summed.
        """
        put, shape, kind = self.text.put, self.shape, step.store
        whence = "" if t == "t" else f" in state {self.plan.source[int(t)]}"
        put(f"# + all before it{whence}: {kind.method.name.lower()}")
        if kind.method is Way.SCAN:
            self.scan(t, s, step)
            return False
        if shape.selection is Selection.NEXT:
            source = f"source[{t}]" if t == "t" else str(self.plan.source[int(t)])
            followed = f"followed[{source}]"
            put(f"{followed} |= mine & transition_mask[{t}]" if shape.queries else f"{followed} = 1")
        if shape.selection is Selection.CONTIGUOUS:
            put(f"near{name} = last_tick[{s}] == now - 1")
        if kind.guard is not None:
            self.drop(s, kind)
        node = f"start[{s}]"
        if kind.ranking is not None:
            ranking = self.plan.rankings[kind.ranking]
            put(f"bound{name} = {self.places(kind, 'bound', 'shift + row')}")
            if ranking.equal is not None:
                node += f" + {self.places(kind, 'from', 'shift + row')} * {self.width}"
            if ranking.order is not None:
                node += f" - {self.width}"
        put(f"root{name} = {node}")
        if kind.method is Way.QUEUE:
            put(f"older{name} = head[{s}] < turn[{s}]")
            put(f"oldest{name} = ({self.list_at(s)} + head[{s}]) * {self.width}")
        return True

    def sum_read(self, name: str, kind: StoreKind, places: list[str]) -> None:
        """Local variables += what was looked up under names with that ending."""
        ranking = None if kind.ranking is None else self.plan.rankings[kind.ranking]

        def add(array: str, at: str) -> None:
            for k, place in enumerate(places):
                self.add_to(f"x{k}", self.get(self.entry(f"{array}[{at}]", place)))

        with self.text.block_if(f"near{name}" if self.shape.selection is Selection.CONTIGUOUS else None):
            if ranking is not None and ranking.order is not None:
                self.text.put(f"k = bound{name}")
                with self.text.block("while k > 0"):
                    add("nodes", f"root{name} + k" if self.width == "1" else f"root{name} + k * {self.width}")
                    self.text.put("k &= k - 1")
                return
            with self.text.block_if(None if ranking is None else f"bound{name} > 0"):
                add("nodes", f"root{name}")
            if kind.method is Way.QUEUE:
                with self.text.block(f"if older{name}"):
                    add("vectors", f"oldest{name}")

    def list_at(self, s: str) -> str:
        """Where the list of a store begins."""
        if s == "s":
            return "listed[s] * capacity"
        number = self.plan.lists[int(s)]
        return {0: "0", 1: "capacity"}.get(number, f"{number} * capacity")

    def places(self, kind: StoreKind, name: str, place: str) -> str:
        return f"{name}_{kind.ranking}[{place}]"

    def add_to_tree_in_packs(self) -> None:
        """A pack of the vector at hand is added to all nodes that its rank is in."""
        put = self.text.put
        with self.over_numbers(True) as places:
            put(*(f"x{k} = {self.get(self.entry('x', place))}" for k, place in enumerate(places)), "k = j")
            with self.text.block("while k <= size"):
                put("node = tree + k * width")
                for k, place in enumerate(places):
                    self.add_to(self.entry("nodes[node]", place), f"x{k}")
                put("k += k & -k")

    def walk_tree(
        self, s: str, kind: StoreKind, place: str, operator: str, vector: str, low: str = "low", high: str = "high"
    ) -> None:
        """Change each node of a tree that a rank is in."""
        put = self.text.put
        assert kind.ranking is not None
        ranking = self.plan.rankings[kind.ranking]
        node = f"start[{s}]"
        if ranking.equal is not None:
            node += f" + {self.places(kind, 'base', place)} * {self.width}"
        if ranking.order is None:
            put(f"node = {node}")
            self.each("nodes[node]", operator, vector, low, high)
            return
        size = self.places(kind, "size", place) if ranking.equal is not None else f"nodes_{kind.ranking}[b]"
        put(f"tree = {node} - {self.width}", "j = rank + 1")
        put(f"size = {size}")
        if self.shape.packs and operator == "+=":
            self.add_to_tree_in_packs()
            return
        with self.text.block("while j <= size"):
            put(f"node = tree + j * {self.width}" if self.width != "1" else "node = tree + j")
            self.each("nodes[node]", operator, vector, low, high)
            put("j += j & -j")

    def drop(self, s: str, kind: StoreKind) -> None:
        """Vertices before a NOT leave for good."""
        put = self.text.put
        put(f"threshold = {self.matrix('guards', kind.guard or 0, 'row')}", f"position = head[{s}]")
        with self.text.block(
            f"while position < tail[{s}] and tick[list_rows[{self.list_at(s)} + position]] < threshold"
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
                self.walk_tree(s, kind, "shift + earlier", "-=", "vectors[old]", low, high)
            put("position += 1")
        put(f"head[{s}] = position")
        if kind.method is Way.QUEUE:
            with self.text.block(f"if position > turn[{s}]"):
                with self.text.block(f"for p in range(tail[{s}] - 2, position - 1, -1)"):
                    put(f"old = ({self.list_at(s)} + p) * {self.width}")
                    self.whole("vectors[old]", "+=", f"vectors[old + {self.width}]")
                put(f"node = start[{s}]")
                self.whole("nodes[node]", "=", self.zero)
                put(f"turn[{s}] = tail[{s}]")

    def needs_reading(self, step: StepKind) -> bool:
        """Whether scans of a transition begin later and later: thresholds and windows only move on."""
        if step.store.method is not Way.SCAN or self.shape.selection is Selection.NEXT:
            return False
        return step.guard is not None or self.shape.selection is Selection.CONTIGUOUS or self.shape.lanes

    def scan(self, t: str, s: str, step: StepKind) -> None:
        """The vector at hand += every vertex in the list that meets the conditions of a transition."""
        put, shape = self.text.put, self.shape
        next_only = shape.selection is Selection.NEXT
        if step.guard is not None:
            put(f"threshold = {self.matrix('guards', step.guard, 'row')}")
        put(f"p = {self.list_at(s)}", f"stop = p + tail[{s}]")
        if self.needs_reading(step):
            limits = []
            if step.guard is not None:
                limits.append("tick[list_rows[p]] < threshold")
            if shape.selection is Selection.CONTIGUOUS:
                limits.append("tick[list_rows[p]] < now - 1")
            if shape.lanes:
                limits.append("window_last[list_rows[p]] < window_first[row]")
            put(f"p += reading[{t}]")
            with self.text.block(f"while p < stop and ({' or '.join(limits)})"):
                put("p += 1")
            put(f"reading[{t}] = p - {self.list_at(s)}")
        tests = []
        for number, (slot, operator, column) in enumerate(step.tests):
            put(f"code{number} = {self.matrix('codes', column, 'row')}")
            earlier = "list_codes[p]" if slot == 0 else f"list_codes[{slot} * len(list_rows) + p]"
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
                            f"line = answers_from[{number}]"
                            f" + {self.matrix('codes', previous, 'earlier')} * answers_width[{number}]"
                        )
                        answer = f"answers[line + {self.matrix('codes', following, 'row')}]"
                    with self.text.block_if(None if step.pair is None else f"{answer} != 0"):
                        if next_only:
                            mark = f"mine & transition_mask[{t}]" if shape.queries else "1"
                            put(f"accepted_now[p] |= {mark}")
                        late = next_only and step.guard is not None
                        with self.text.block_if("tick[list_rows[p]] >= threshold" if late else None):
                            self.add_listed(t)

    def add_listed(self, t: str) -> None:
        put, shape = self.text.put, self.shape
        put(f"old = p * {self.width}" if self.width != "1" else "old = p")
        line = "x", "+=", "vectors[old]"
        if not shape.queries:
            self.each(*line)
            return
        put(f"readers = transition_mask[{t}]")
        with self.text.block("if readers == -1"):
            self.each(*line)
        with self.text.block("else"):
            self.each(*line, mask="readers")

    # Vertices that wait

    def insert(self) -> None:
        """Put the vertices that wait into the stores of their states."""
        put, shape, plan = self.text.put, self.shape, self.plan
        put("# the vertices of this time go into the stores of their states")
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
                    for kind in self.kinds_of("s"):
                        self.insert_into("s", kind)
                put("reach = max(reach, furthest[q])")
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
        put(f"readers = store_mask[{s}]", "at = number * width")
        with self.text.block("if readers != -1"):
            put("at = used * width")
            self.each("x", "=", "pending[number * width]")
            self.each("x", "=", self.zero, mask="~readers")
        self.insert_vector(s, kind)

    def insert_vector(self, s: str, kind: StoreKind) -> None:
        put, shape = self.text.put, self.shape
        if kind.method is Way.RANKED:
            put(f"rank = {self.places(kind, 'rank', 'shift + late')}")
            with self.text.block("if rank >= 0"):
                self.walk_tree(s, kind, "shift + late", "+=", "x")
                if kind.guard is not None:
                    self.append(s, kind)
            return
        if kind.method is not Way.SCAN:
            put(f"node = start[{s}]")
            if shape.selection is Selection.CONTIGUOUS:
                with self.text.block(f"if last_tick[{s}] != now"):
                    self.empty(s, kind)
                put(f"last_tick[{s}] = now")
            self.each("nodes[node]", "+=", "x")
        if kind.is_listed:
            self.append(s, kind)

    def append(self, s: str, kind: StoreKind) -> None:
        """The vector becomes the last one of a list."""
        put, shape = self.text.put, self.shape
        put(f"p = {self.list_at(s)} + tail[{s}]", f"tail[{s}] += 1")
        put("list_rows[p] = late", f"old = p * {self.width}" if self.width != "1" else "old = p")
        for slot, column in enumerate(kind.slots):
            index = "p" if slot == 0 else f"{slot} * len(list_rows) + p"
            put(f"list_codes[{index}] = {self.matrix('codes', column, 'late')}")
        if shape.selection is Selection.NEXT and kind.method is Way.SCAN:
            put("accepted_now[p] = 0")
        if self.arrays:
            self.whole("vectors[old]", "=", self.zero)
        self.each("vectors[old]", "=", "x")

    def empty(self, s: str, kind: StoreKind) -> None:
        """A running or queued store forgets everything."""
        self.text.put(f"node = start[{s}]")
        self.whole("nodes[node]", "=", self.zero)
        if kind.method is Way.QUEUE:
            self.text.put(f"head[{s}] = turn[{s}] = tail[{s}]")

    # Skip-till-next-match

    def forget_followed(self) -> None:
        """Vertices that were followed at this time connect to nothing later."""
        put, plan = self.text.put, self.plan
        for s in self.stores():
            q = "store_source[s]" if s == "s" else str(plan.store_source[int(s)])
            for kind in self.kinds_of(s):
                if kind.method is Way.SCAN:
                    self.forget_listed(s, q, kind)
                    continue
                with self.text.block(f"if followed[{q}] != 0"):
                    self.forget_store(s, q, kind)
        if any(kind.method is not Way.SCAN for kind in plan.kinds):
            with self.text.block(f"for q in range({len(plan.variable)})"):
                put("followed[q] = 0")

    def forget_store(self, s: str, q: str, kind: StoreKind) -> None:
        put = self.text.put
        if not self.shape.queries:
            self.empty(s, kind)
            return
        put(f"gone = followed[{q}]", f"everybody = here_mask[{q}]")
        with self.text.block("if gone & everybody == everybody"):
            self.empty(s, kind)
        with self.text.block("else"):
            put(f"node = start[{s}]")
            self.each("nodes[node]", "=", self.zero, "0", "lanes", "gone")
            if kind.method is Way.QUEUE:
                with self.text.block(f"for p in range(head[{s}], tail[{s}])"):
                    put(f"old = ({self.list_at(s)} + p) * width")
                    self.each("vectors[old]", "=", self.zero, "0", "lanes", "gone")

    def forget_listed(self, s: str, q: str, kind: StoreKind) -> None:
        put, shape = self.text.put, self.shape
        put(f"kept = {self.list_at(s)}")
        with self.text.block(f"for p in range(kept, kept + tail[{s}])"):
            put("gone = accepted_now[p]")
            if shape.queries:
                put(f"everybody = here_mask[{q}]")
                stays = "gone & everybody != everybody"
            else:
                stays = "gone == 0"
            with self.text.block(f"if {stays}"):
                if shape.queries:
                    put("old = p * width")
                    with self.text.block("if gone != 0"):
                        self.each("vectors[old]", "=", self.zero, "0", "lanes", "gone")
                with self.text.block("if kept < p"):
                    put("list_rows[kept] = list_rows[p]", "accepted_now[kept] = gone")
                    for slot in range(len(kind.slots)):
                        shift = f"{slot} * len(list_rows) + " if slot else ""
                        put(f"list_codes[{shift}kept] = list_codes[{shift}p]")
                    put(f"old = p * {self.width}", f"new = kept * {self.width}")
                    self.whole("vectors[new]", "=", "vectors[old]")
                put("kept += 1")
        put(f"tail[{s}] = kept - {self.list_at(s)}" if self.list_at(s) != "0" else f"tail[{s}] = kept")
