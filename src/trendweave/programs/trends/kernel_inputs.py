"""Plan and encoded rows -> what kernels read: rows, template, conditions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from trendweave.kernels import NO_MATCH, Condition, Rows, Selection, match_starts
from trendweave.kernels import Comparison as CodeComparison
from trendweave.kernels import Template as KernelTemplate
from trendweave.kernels import Way as KernelWay
from trendweave.kernels.loops.by_value import AnchorValues
from trendweave.planning.anchors import TemplateLanes
from trendweave.planning.plan import Guard, Kernel, Plan, Template, Way
from trendweave.planning.preparation import Preparation, PreparedEdge
from trendweave.planning.ways import PiecePlan, plan_pieces
from trendweave.programs.trends.lanes import LaneCopier, lane_codes
from trendweave.programs.trends.pair_tests import pair_test
from trendweave.rows.codes import joint_codes, key_codes
from trendweave.rows.encoded import EncodedRows
from trendweave.rows.segments import Segments, bit_of, keep_readable, refine_segments
from trendweave.rows.windows import find_reach

#: After all ticks: no later match of a negated pattern. `NO_MATCH` is before all ticks.
NO_LATER_MATCH = np.iinfo(np.int64).max

#: The words of plans in the code of the kernels: strategies and ways.
SELECTION = {
    "skip-till-any-match": Selection.ANY,
    "skip-till-next-match": Selection.NEXT,
    "contiguous": Selection.CONTIGUOUS,
}
WAYS = {
    Way.RUNNING_SUMS: KernelWay.RUNNING,
    Way.QUEUED_SUMS: KernelWay.QUEUE,
    Way.SUMS_PER_VALUE: KernelWay.RANKED,
    Way.SUMS_OVER_RANKS: KernelWay.RANKED,
    Way.RANKS_PER_VALUE: KernelWay.RANKED,
    Way.NEIGHBOURS: KernelWay.SCAN,
    Way.SCAN: KernelWay.SCAN,
}


@dataclass(frozen=True, slots=True)
class Piece:
    """The trends of a template that contain certain bound variables, the segments they are looked for in, and the
    kernel that counts and sums them."""

    template: Template
    segments: Segments
    kernel: Kernel
    lanes: TemplateLanes | None = None


class KernelInputs:
    """Builds kernel inputs for the templates of one plan over one set of rows."""

    def __init__(self, plan: Plan, preparation: Preparation, rows: EncodedRows) -> None:
        self.plan, self.preparation, self.rows = plan, preparation, rows
        self.number = {variable.name: index for index, variable in enumerate(plan.variables)}
        self.words = rows.partitions.letters.shape[1]
        self._edges = {(edge.earlier, edge.later): index for index, edge in enumerate(plan.edges)}
        self._keys: dict[str, np.ndarray] = {}
        self._matches: dict[int, np.ndarray] = {}
        self._latest_starts: dict[Guard, np.ndarray] = {}

    # Segments

    def pieces(self, template: Template, in_lanes: bool = True) -> list[Piece]:
        """One piece per set of bound variables that a trend of the template can contain. Unless `in_lanes`, rows of
        pieces whose lanes are summed are not copied."""
        found = []
        for part in plan_pieces(self.plan, template):
            piece = Piece(part.template, self._segments(part), part.kernel, part.lanes)
            summed = part.kernel is Kernel.FOLD_BY_VALUE and not in_lanes
            found.append(piece if summed or part.lanes is None else self.copy_into_lanes(piece))
        return found

    def _segments(self, part: PiecePlan) -> Segments:
        names = {state.variable for state in part.template.states}
        segments = keep_readable(self.rows.partitions, self.bits(names))
        for variable in part.bound:
            key, tick = self._key(variable), self.rows.tick
            segments = refine_segments(segments, variable, self.bits({variable}), key, tick, lambda: self._reach)
        return segments

    def copy_into_lanes(self, piece: Piece) -> Piece:
        """The piece with a copy of each row per lane that it may stand in."""
        return replace(piece, segments=self._lanes(piece).copy(piece.segments), kernel=Kernel.PROPAGATE)

    def anchor_values(self, piece: Piece) -> AnchorValues:
        """What the loop that sums by value reads of a piece whose rows are not copied."""
        return self._lanes(piece).inputs(piece.segments, self.number)

    def _lanes(self, piece: Piece) -> LaneCopier:
        assert piece.lanes is not None, "only such pieces remember earlier events"
        names = sorted({state.variable for state in piece.template.states})
        beyond = None if self._reach is None else self._reach[1]
        bits = {name: self.bits({name}) for name in names}
        return LaneCopier(self.plan, self.preparation.anchors, self.rows, piece.lanes, beyond, bits)

    def bits(self, names: set[str]) -> np.ndarray:
        """The letters of some variables, as words of bits."""
        bits = np.zeros(self.words, np.uint64)
        for name in names:
            bits |= bit_of(self.number[name], self.words)
        return bits

    def _key(self, variable: str) -> np.ndarray:
        """A number per row for the bound keys of a variable."""
        if variable not in self._keys:
            names = [
                name
                for key, name in zip(self.plan.bound_keys, self.preparation.bound_keys, strict=True)
                if key.variable == variable
            ]
            columns = [self.rows.table.column(name) for name in names]
            self._keys[variable] = key_codes(columns, self.rows.table.num_rows)
        return self._keys[variable]

    @cached_property
    def _reach(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The ticks that may share a window with each tick; None where all of a partition do."""
        rows = self.rows
        starts = rows.tick[rows.partitions.starts[:-1]]
        return find_reach(self.plan.window, rows.time_type, rows.tick_steps, starts)

    # What kernels read

    def kernel_rows(self, segments: Segments, first: np.ndarray, last: np.ndarray) -> Rows:
        """The rows of some segments.

        Args:
            segments: The segments.
            first: The first window of each of their rows.
            last: The last window of each of their rows.

        Returns:
            What kernels read of each row.
        """
        return Rows(segments.starts, segments.take(self.rows.tick), first, last, segments.letters)

    def kernel_template(self, template: Template) -> KernelTemplate:
        """A template of the plan in numbers."""
        starts = np.zeros(len(template.states), np.bool_)
        starts[[start.state for start in template.starts]] = True
        ends = np.zeros(len(template.states), np.bool_)
        ends[[end.state for end in template.ends]] = True
        return KernelTemplate(
            np.array([self.number[state.variable] for state in template.states], np.int32),
            starts,
            ends,
            np.array([step.source for step in template.transitions], np.int32),
            np.array([step.target for step in template.transitions], np.int32),
        )

    def conditions(self, piece: Piece, tests_pairs: bool = True) -> list[Condition]:
        """One per transition. Transitions between the same variables share their arrays, and so do equal guards. Unless
        it `tests_pairs`, predicates that are no comparisons of two columns are left out."""
        template, segments = piece.template, piece.segments
        by_pair: dict[tuple[str, str], Condition] = {}
        by_guard: dict[Guard, np.ndarray | None] = {}
        tick = segments.take(self.rows.tick)
        conditions = []
        for step in template.transitions:
            pair = (template.states[step.source].variable, template.states[step.target].variable)
            if pair not in by_pair:
                by_pair[pair] = self._edge_condition(pair, piece, tests_pairs)
            for guard in (step.guard, step.closed):
                if guard not in by_guard:
                    threshold = self.latest_start(guard)
                    by_guard[guard] = None if threshold is None else threshold[tick]
            conditions.append(
                by_pair[pair]._replace(
                    comparisons=(*by_pair[pair].comparisons, *_not_clean(tick, by_guard[step.closed])),
                    guard=by_guard[step.guard],
                    way=WAYS[step.summing.way],
                    inexact_way=WAYS[step.summing.inexact],
                )
            )
        return conditions

    def edges_of(self, template: Template) -> list[PreparedEdge]:
        """What must hold along each transition of a template, as names of prepared columns."""
        variable = [state.variable for state in template.states]
        pairs = ((variable[step.source], variable[step.target]) for step in template.transitions)
        return [self.preparation.edges[self._edges[pair]] for pair in pairs]

    def _edge_condition(self, pair: tuple[str, str], piece: Piece, tests_pairs: bool) -> Condition:
        edge, segments = self.preparation.edges[self._edges[pair]], piece.segments
        equal = tuple((c.previous, c.next) for c in edge.comparisons if c.operator == "=")
        codes = [("=", self.rows.equality_codes_of(equal))] if equal else []
        codes += [
            (c.operator, self.rows.order_codes_of(c.previous, c.next)) for c in edge.comparisons if c.operator != "="
        ]
        comparisons = []
        for operator, (previous, following) in codes:
            taken = segments.take(previous)
            # Kernels rank a column once if it is compared with itself.
            comparisons.append(
                CodeComparison(taken, operator, taken if following is previous else segments.take(following))
            )
        if piece.lanes is not None and piece.lanes.asks(pair[1]):
            same_lane = lane_codes(segments, tuple(memory.anchor for memory in piece.lanes.needed[pair[1]]))
            if equal:
                same_lane = joint_codes([(comparisons[0].previous, comparisons[0].next), same_lane])
            comparisons[: bool(equal)] = [CodeComparison(same_lane[0], "=", same_lane[1])]
        general = edge.general if tests_pairs else ()
        return Condition(tuple(comparisons), None, pair_test(general, self.rows.table, segments))

    def lane_starts(self, piece: Piece) -> dict[int, np.ndarray]:
        """Per state that trends begin in, 0 for the copies of rows that they may begin with, and 1 for all others;
        nothing where all of them may."""
        lanes = piece.segments.lanes
        if lanes is None or lanes.begins.all():
            return {}
        beyond = np.where(lanes.begins, 0, 1)
        return {start.state: beyond for start in piece.template.starts}

    # Negation, as ticks. Ticks grow from one partition to the next, so what ended in an earlier partition never
    # matters.

    def _match_starts(self, number: int) -> np.ndarray:
        """Per tick, the latest start of a match of a negated pattern that ended at that tick or before."""
        if number not in self._matches:
            latest = np.full(self.rows.tick_steps.size, NO_MATCH)
            for piece in self.pieces(self.plan.negations[number].template):
                tick = self.rows.tick[piece.segments.row]
                np.maximum.at(latest, tick, self._find_matches(piece, tick))
            self._matches[number] = np.maximum.accumulate(latest)
        return self._matches[number]

    def _find_matches(self, piece: Piece, tick: np.ndarray) -> np.ndarray:
        """Per row, the latest start of a match of a negated pattern that ends with it. Where it begins or ends with
        NOT, each window is looked at by itself, so a partition is a window."""
        nowhere = np.zeros(tick.size, np.int64)
        rows, template = self.kernel_rows(piece.segments, nowhere, nowhere), self.kernel_template(piece.template)
        conditions = self.conditions(piece)
        begins = {start.state: self.latest_start(start.guard) for start in piece.template.starts}
        kept_out = {
            state: (threshold[tick] != NO_MATCH).astype(np.int64)
            for state, threshold in begins.items()
            if threshold is not None
        }
        for state, beyond in self.lane_starts(piece).items():
            kept_out[state] = np.maximum(kept_out.get(state, beyond), beyond)
        best = np.full(tick.size, NO_MATCH)
        for guard in dict.fromkeys(end.guard for end in piece.template.ends):
            ends = np.zeros(len(piece.template.states), np.bool_)
            ends[[end.state for end in piece.template.ends if end.guard == guard]] = True
            found = match_starts(rows, template._replace(is_final=ends), conditions, start_guards=kept_out)
            threshold = self.earliest_end(guard)
            if threshold is not None:
                found[threshold[tick] != NO_LATER_MATCH] = NO_MATCH
            best = np.maximum(best, found)
        return best

    def latest_start(self, guard: Guard) -> np.ndarray | None:
        """Per tick, the tick before which predecessors are out; NO_MATCH where all are in. None for a guard that is
        always open, or never."""
        if guard.always_open or not guard.alternatives:
            return None
        if guard in self._latest_starts:
            return self._latest_starts[guard]

        def threshold(number: int) -> np.ndarray:
            ended_before = np.concatenate([[NO_MATCH], self._match_starts(number)[:-1]])
            return np.where(ended_before < self._tick_ranges[0], NO_MATCH, ended_before)

        # A gap is clean if it is clean of all negations of one alternative: the strictest of them, then the mildest
        # of those.
        strictest = [np.max([threshold(number) for number in way], axis=0) for way in guard.alternatives]
        self._latest_starts[guard] = np.min(strictest, axis=0)
        return self._latest_starts[guard]

    def earliest_end(self, guard: Guard) -> np.ndarray | None:
        """Per tick, the tick at which the first match that begins later has ended, or NO_LATER_MATCH."""
        if guard.always_open:
            return None
        ticks = np.arange(self.rows.tick_steps.size)

        def threshold(number: int) -> np.ndarray:
            end = np.searchsorted(self._match_starts(number), ticks, side="right")
            return np.where(end > self._tick_ranges[1], NO_LATER_MATCH, end)

        strictest = [np.min([threshold(number) for number in way], axis=0) for way in guard.alternatives]
        return np.max(strictest, axis=0)

    @cached_property
    def _tick_ranges(self) -> tuple[np.ndarray, np.ndarray]:
        """Per tick, the first and the last tick of its partition."""
        starts = self.rows.tick[self.rows.partitions.starts[:-1]]
        counts = np.diff(np.append(starts, self.rows.tick_steps.size))
        return np.repeat(starts, counts), np.repeat(starts + counts - 1, counts)


def _not_clean(tick: np.ndarray, threshold: np.ndarray | None) -> tuple[CodeComparison, ...]:
    """That a gap is not clean, as a comparison of codes: its beginning lies before the threshold of its end. Where no
    match is in the way the threshold is below zero, which is NULL."""
    return () if threshold is None else (CodeComparison(tick, "<", threshold),)
