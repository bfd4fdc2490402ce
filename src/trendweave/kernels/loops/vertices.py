"""The vertex of a row: the sum of what the row may follow, one more trend where trends begin, and what the row adds.

All of that, the watch for overflow and the addition to the result are one pass over the vector: number by number, or
in packs of lanes that stay in registers.
"""

from __future__ import annotations

from trendweave.kernels.loops.plan import NOT_THERE, UNGUARDED, StoreKind
from trendweave.kernels.loops.stores import Stores
from trendweave.kernels.loops.vectors import Numbers

#: Bits of a product from which on it is too large.
LARGEST = "2.0**61"


class Vertices(Stores):
    """The parts of a loop that sum vertices."""

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
                if packed and not checked and not certain:
                    self.add_to("most", "x0")
                elif not packed and not certain and self.arrays:
                    put("found = True")
                if checked:
                    put("most = most | x0" if packed else "seen |= x0")
                for k in counted:
                    self.add_value(q, k)
                if checked:
                    into = "most_of_sums = most_of_sums |" if packed else "seen |="
                    put(*(f"{into} (x{k} ^ (x{k} >> 63))" for k in range(1, shape.components)))
                self.end(places, ends)
                if not self.arrays:
                    self.wait(q)
            if self.arrays:
                self.keep(q, places)
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
            put("found = differs(most, nothing)")
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
            window = "window + i" if self.shape.lanes else "window_first[row]" if max(of_states) >= 0 else ""
            parts = list[str]()
            lane, nowhere = ("begin", "high") if comparison == "<=" else ("ends", "low")
            if packed and several:
                put(f"{lane} = {nowhere}")
            for guard in of_states:
                if guard == NOT_THERE:
                    continue
                asked = f"{name}[q] == {guard}" if several else None
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
            with self.text.block("if mine >> query[i] & 1 == 0"):
                put(*(f"{name} = {self.zero}" for name in names))
        if begin is None:
            return
        tests = ["begins >> query[i] & 1"] if shape.queries else []
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
                self.add_to(f"result[{place}]", x)
            return
        tests = ["enders >> query[i] & 1"] if self.shape.queries else []
        tests += [f"({ends})" if " or " in ends and tests else ends] if ends else []
        with self.text.block_if(" and ".join(tests) or None):
            for k, place in enumerate(places):
                if self.arrays:
                    self.add_to(f"result[{place}]", f"x{k}")
                else:
                    self.text.put(self.add(f"total{k}", f"x{k}"))
            if self.shape.per_row:
                self.text.put("row_results[row] = max(row_results[row], x0)")

    def begins_always(self, q: str) -> bool:
        """Whether a row read as a state begins trends in all of its windows, so that some end with it."""
        return q != "q" and self.plan.start[int(q)] == UNGUARDED and not self.shape.queries

    def counts(self, q: str, k: int) -> str | None:
        """Whether a state's rows count for a component: a condition, None for always, "" for never."""
        number = k - self.shape.values
        if self.shape.queries:
            return f"{self.counted_mask(q, k)} != 0"
        if q == "q":
            return f"counted[{number * len(self.plan.variable)} + q] != 0"
        return None if self.shape.counted[number][int(q)] else ""

    def counted_mask(self, q: str, k: int) -> str:
        """The queries for which a state's rows count for a component."""
        return f"counted_mask[{(k - self.shape.values) * len(self.plan.variable)} + {q}]"

    def value(self, k: int, digit: int = 0) -> str:
        """The value that a row adds to a component."""
        return self.matrix("values", (k - self.shape.values) * self.shape.digits + digit, "row")

    def add_value(self, q: str, k: int) -> None:
        """A value times the number of trends, or the value as an extremum."""
        put, shape, numbers = self.text.put, self.shape, self.shape.numbers
        tests = [self.counts(q, k)]
        if shape.queries:
            tests = [f"{self.counted_mask(q, k)} >> query[i] & 1"]
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

    def is_read(self, q: str) -> bool:
        """Whether any state follows one."""
        plan = self.plan
        return bool(plan.kinds) and (q == "q" or plan.outgoing[int(q)] < plan.outgoing[int(q) + 1])

    def keep(self, q: str, places: list[str]) -> None:
        """Numbers of the vertex are kept until the end of the tick, if anything reads them."""
        if self.is_read(q):
            for k, place in enumerate(places):
                self.set(f"pending[at + {place}]", f"x{k}")

    def wait(self, q: str) -> None:
        """The vertex waits for the end of the tick, if anything reads it."""
        put, shape, plan = self.text.put, self.shape, self.plan
        if not self.is_read(q):
            return
        with self.text.block_if("outgoing[q] < outgoing[q + 1]" if q == "q" else None):
            if len(plan.variable) > 1:
                put(f"waiting_state[used] = {q}")
            put("waiting_row[used] = row")
            if shape.lanes:
                put("waiting_low[used] = low", "waiting_high[used] = high")
            if not self.arrays:
                if shape.components == 1:
                    put("pending[used] = x0")
                else:
                    put(f"at = used * {shape.components}")
                    put(*(f"pending[at + {k}] = x{k}" if k else "pending[at] = x0" for k in range(shape.components)))
            put("used += 1")
