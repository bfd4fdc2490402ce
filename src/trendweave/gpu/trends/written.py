"""The loops of a GPU, written for a plan as CUDA C: what `explain(loop=True)` prints with device="gpu".

What every plan has in common lies in `cuda/fold.cu` and `cuda/propagate.cu`: how threads share the rows out. The plan
says what becomes of a row, as for a processor (`kernels.loops.fold`, `kernels.loops.propagate`): transitions are
written one by one, or gone over in a loop over tables where they are many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

from trendweave.gpu.card import cuda_text
from trendweave.gpu.trends.numbers import Kind
from trendweave.kernels.inputs import OPERATORS
from trendweave.kernels.loops.plan import MOST_UNROLLED, NOT_THERE, UNGUARDED, LoopPlan, StepKind
from trendweave.kernels.loops.text import Text

#: Columns of codes of earlier rows that are staged in shared memory; others are read where they lie.
MOST_STAGED = 16
#: States with steps into them that are written one by one; threads of a warp go over them one after the other.
MOST_TARGETS = 3
#: Of each comparison: the type of its bound, how it is made from the later row's code, and the test of an earlier one.
_COMPARISONS = {
    "<": ("unsigned", "below({})", "(unsigned){code} < {bound}"),
    "<=": ("unsigned", "up_to({})", "(unsigned){code} < {bound}"),
    ">": ("int", "above({})", "{code} > {bound}"),
    ">=": ("int", "beginning_with({})", "{code} > {bound}"),
    "=": ("int", "same_as({})", "{code} == {bound}"),
    "!=": ("int", "{}", "({code} | {bound}) >= 0 && {code} != {bound}"),
}


class CudaText(Text):
    """Lines of CUDA C."""

    @contextmanager
    def block(self, header: str, end: str = "}") -> Iterator[None]:
        self.put(f"{header} {{")
        self._depth += 1
        yield
        self._depth -= 1
        self.put(end)

    def table(self, name: str, entries: Sequence[int]) -> None:
        """A table of whole numbers."""
        self.put(f"__constant__ int {name}[] = {{{', '.join(map(str, entries))}}};")


def _assemble(name: str, kind: Kind, sums: int, defined: dict[str, int], written: Text) -> str:
    """The text of a loop: constants, numbers, and the file of that name with what was written for the plan in it."""
    lines = (f"#define {key} {value}\n" for key, value in ({"KIND": int(kind), "SUMS": sums} | defined).items())
    return "".join(lines) + cuda_text("numbers", name).replace("@PLAN@\n", str(written))


# Templates without conditions


@lru_cache(maxsize=256)
def write_fold(plan: LoopPlan, kind: Kind, sums: int) -> str:
    """The text of `fold`: what rows add to totals per state, where state number `past` is the empty past."""
    text, past = CudaText(), len(plan.variable)
    unrolled = sum(map(len, plan.sources)) <= MOST_UNROLLED
    if not unrolled:
        text.table("SOURCES", [source for of_state in plan.sources for source in of_state])
        bounds = [sum(map(len, plan.sources[:q])) for q in range(past + 1)]
        text.table("SOURCES_FROM", bounds)
    text.put("__device__ inline void add_row(unsigned here, long long row, long long rows, const Number* values,")
    rest = "const unsigned* value_states, const Totals* total, Totals* target, Modulus modulus)"
    with text.block(f"                               {rest}"):
        text.put("Number before[NUMBERS];")
        if unrolled:
            for q in range(past):
                with text.block(f"if (here >> {q} & 1)"):
                    text.put("#pragma unroll")
                    with text.block("for (int k = 0; k < NUMBERS; k++)"):
                        put_sum(text, "before[k]", [f"total[k].of[{source}]" for source in plan.sources[q]])
                    text.put(f"add_vertex({q}, before, row, rows, values, value_states, target, modulus);")
        else:
            with text.block("for (; here; here &= here - 1)"):
                text.put("int q = __ffs((int)here) - 1;")
                with text.block("for (int k = 0; k < NUMBERS; k++)"):
                    text.put("before[k] = ZERO;")
                    with text.block("for (int j = SOURCES_FROM[q]; j < SOURCES_FROM[q + 1]; j++)"):
                        text.put("before[k] = add(before[k], total[k].of[SOURCES[j]]);")
                text.put("add_vertex(q, before, row, rows, values, value_states, target, modulus);")
    text.put("")
    with text.block("__device__ inline Number ended(const Number* vector, int stride, Modulus modulus)"):
        text.put("Number sum;")
        put_sum(text, "sum", [f"vector[{q} * stride]" for q in plan.ends])
        text.put("return settle(sum, modulus);")
    return _assemble("fold", kind, sums, {"STATES": past}, text)


def put_sum(text: Text, name: str, parts: Sequence[str]) -> None:
    """A variable becomes the sum of some numbers."""
    text.put(f"{name} = {parts[0] if parts else 'ZERO'};", *(f"{name} = add({name}, {part});" for part in parts[1:]))


# Templates with conditions


@lru_cache(maxsize=256)
def write_propagate(plan: LoopPlan, kind: Kind, sums: int, contiguous: bool) -> str:
    """The text of `propagate`, of a plan whose stores are all scanned."""
    return _Propagate(plan, contiguous).write(kind, sums)


def code_columns(plan: LoopPlan) -> tuple[list[int], list[int]]:
    """The columns that the loop reads, in the order in which it finds them: of codes that are compared, those of
    earlier rows first; then of numbers of values that pair tests look up."""
    compared = dict.fromkeys(step.store.slots[slot] for step in plan.steps for slot, _, _ in step.tests)
    compared |= dict.fromkeys(later for step in plan.steps for _, _, later in step.tests)
    pairs = [step.pair for step in plan.steps if step.pair is not None]
    looked_up = dict.fromkeys(column for _, *both in pairs for column in both)
    return list(compared), list(looked_up)


class _Propagate:
    """The parts of the loop over pairs of vertices that depend on the plan."""

    def __init__(self, plan: LoopPlan, contiguous: bool) -> None:
        self.plan, self.contiguous, self.text = plan, contiguous, CudaText()
        self.compared, self.looked_up = code_columns(plan)
        self.earlier = len({step.store.slots[slot] for step in plan.steps for slot, _, _ in step.tests})
        self.asked = dict[tuple[str, str], str]()  # what is asked, and its type: the name of the member
        self.targets = [q for q in range(len(plan.variable)) if plan.incoming[q] < plan.incoming[q + 1]]

    def write(self, kind: Kind, sums: int) -> str:
        defined = {"STAGED": min(self.earlier, MOST_STAGED), "CONTIGUOUS": int(self.contiguous)}
        if len(self.plan.step) <= MOST_UNROLLED and len(self.targets) <= MOST_TARGETS:
            self.write_steps()
        else:
            defined |= self.write_tables()
        self.write_limit("may_begin", self.plan.start, "here >= columns.start_guards")
        self.write_limit("may_end", self.plan.final, "here <= columns.final_guards")
        return _assemble("propagate", kind, sums, defined, self.text)

    # Few steps: written one by one

    def write_steps(self) -> None:
        text, plan = self.text, self.plan
        leads = {q: self.leads_to(range(plan.incoming[q], plan.incoming[q + 1])) for q in self.targets}
        with text.block("struct Asked", "};"):
            text.put("int state;", *(f"{kind} {name};" for (kind, _), name in self.asked.items()))
        text.put("")
        with text.block("__device__ inline Asked ask(const Vertex& vertex, const Columns& columns)"):
            text.put("Asked asked;", "asked.state = vertex.state;")
            text.put(*(f"asked.{name} = {what};" for (_, what), name in self.asked.items()), "return asked;")
        for q, condition in leads.items():
            text.put("")
            with text.block(f"struct Into{q}", "};"):
                text.put("template <class Place>")
                text.put("__device__ static inline bool leads(const Source& one, const Place& place, int i,")
                with text.block("                                    const Columns& columns, const Asked& asked)"):
                    text.put(f"return {condition};")
        text.put("", "template <bool ADD, class Place>")
        text.put("__device__ inline unsigned follow(const Place& place, int end, const Columns& columns,")
        with text.block("                                  const Asked& asked, Number* sums)"):
            with text.block("switch (asked.state)"):
                for q in leads:
                    text.put(f"case {q}: return take<ADD, Into{q}>(place, end, columns, asked, sums);")
            text.put("return 0;")

    def leads_to(self, transitions: Sequence[int]) -> str:
        """Whether any of some transitions is taken."""
        ways = []
        for t in transitions:
            tests = [f"one.state == {self.plan.source[t]}"] if len(self.plan.variable) > 1 else []
            ways.append(" && ".join([*tests, *self.holds(self.plan.steps[self.plan.step[t]])]) or "true")
        return " ||\n               ".join(f"({way})" for way in ways) if len(ways) > 1 else ways[0]

    def holds(self, step: StepKind) -> list[str]:
        """What an earlier vertex must meet for a step."""
        tests = []
        if step.guard is not None or self.contiguous:
            earliest = [] if step.guard is None else [f"columns.guards[{step.guard} * columns.rows + vertex.row]"]
            earliest += ["vertex.tick - 1"] if self.contiguous else []
            since = self.ask("long long", f"max({', '.join(earliest)})" if len(earliest) > 1 else earliest[0])
            tests.append(f"place.tick[i] >= {since}")
        for slot, operator, later in step.tests:
            kind, bound, test = _COMPARISONS[operator]
            code = self.code_of_earlier(self.compared.index(step.store.slots[slot]))
            asked = self.ask(kind, bound.format(self.code("vertex.row", self.compared.index(later))))
            tests.append(test.format(code=code, bound=asked))
        if step.pair is not None:
            number, *both = step.pair
            earlier, later = map(self.looked_up_at, both)
            width = self.ask("long long", f"columns.answers_width[{number}]")
            line = f"columns.answers + columns.answers_from[{number}] + {self.code('vertex.row', later)}"
            answers = self.ask("const unsigned char*", line)
            tests.append(f"{answers}[{self.code_of_earlier(earlier)} * {width}] != 0")
        return tests

    def code_of_earlier(self, column: int) -> str:
        staged = column < min(self.earlier, MOST_STAGED)
        return f"one.code[{column}]" if staged else self.code("place.row[i]", column)

    @staticmethod
    def code(row: str, column: int) -> str:
        return f"columns.codes[{column} * columns.rows + {row}]"

    def looked_up_at(self, column: int) -> int:
        return len(self.compared) + self.looked_up.index(column)

    def ask(self, kind: str, what: str) -> str:
        """What is asked of earlier vertices is found once for each vertex."""
        return "asked." + self.asked.setdefault((kind, what), f"limit{len(self.asked)}")

    # Many steps: in tables

    def write_tables(self) -> dict[str, int]:
        """Tables, and the text that reads them; what else is defined for it is returned."""
        plan, steps, tests = self.plan, list[int](), list[int]()
        for step, source in zip((plan.steps[number] for number in plan.step), plan.source, strict=True):
            steps += [source, -1 if step.guard is None else step.guard, len(tests) // 3]
            for slot, operator, later in step.tests:
                columns = [self.compared.index(column) for column in (step.store.slots[slot], later)]
                tests += [columns[0], OPERATORS.index(operator), columns[1]]
            if step.pair is None:
                steps += [-1, 0, 0]
            else:
                steps += [step.pair[0], *map(self.looked_up_at, step.pair[1:])]
        self.text.table("INCOMING", plan.incoming)
        self.text.table("STEPS", [*steps, 0, -1, len(tests) // 3, -1, 0, 0])
        self.text.table("TESTS", tests or [0])
        self.text.put("", *cuda_text("steps").rstrip().split("\n"))
        return {
            "MOST_TESTS": max((len(step.tests) for step in plan.steps), default=0),
            "GUARDED": int(any(step.guard is not None for step in plan.steps)),
            "PAIRED": int(bool(self.looked_up)),
            "ALL_STAGED": int(self.earlier <= MOST_STAGED),
        }

    def write_limit(self, name: str, guards: Sequence[int], asked: str) -> None:
        """Whether trends may begin, or end, with a vertex."""
        parts = []
        for q, guard in enumerate(guards):
            if guard != NOT_THERE:
                limit = "" if guard == UNGUARDED else f" && {asked}[{guard} * columns.rows + vertex.row]"
                parts.append(f"(vertex.state == {q}{limit})" if limit else f"vertex.state == {q}")
        everywhere = all(guard == UNGUARDED for guard in guards)
        self.text.put("")
        head = f"__device__ inline bool {name}(const Vertex& vertex, long long here, const Columns& columns)"
        with self.text.block(head):
            self.text.put(f"return {'true' if everywhere else ' || '.join(parts) or 'false'};")
