"""Conditions on earlier events: rows are copied into the lanes in which they hold, and steps stay in their lane."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa

from trendweave.expressions.arrow.evaluate import is_true
from trendweave.kernels import Comparison
from trendweave.kernels.loops.by_value import AnchorValues
from trendweave.language import syntax_tree as st
from trendweave.planning.anchors import TemplateLanes
from trendweave.planning.plan import Anchor, Plan
from trendweave.planning.planner import columns_of
from trendweave.planning.predicates import rewrite_columns
from trendweave.planning.preparation import PreparedEdge
from trendweave.rows.codes import different_numbers, joint_codes, key_codes, present_codes
from trendweave.rows.encoded import EncodedRows
from trendweave.rows.lanes import Moments, check_copies, combine, find_choices
from trendweave.rows.segments import Lanes, Segments

_COPIES_AT_ONCE = 2_000_000
_HOLDS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "=": np.equal,
    "!=": np.not_equal,
}


class LaneCopier:
    """Copies the rows of segments into the lanes of a template."""

    def __init__(
        self,
        plan: Plan,
        prepared: tuple[PreparedEdge, ...],
        rows: EncodedRows,
        lanes: TemplateLanes,
        beyond: np.ndarray | None,
        bits: dict[str, np.ndarray],
    ) -> None:
        """`beyond`: per tick the first later one that no window holds together with it; None where one holds all.
        `bits`: the letter of each variable that trends are made of, as words of bits."""
        self.rows, self.lanes, self.bits = rows, lanes, bits
        by_condition = dict(zip(plan.anchors, prepared, strict=True))
        self.prepared = [by_condition[condition] for condition in lanes.conditions]
        self.beyond = np.full(rows.tick_steps.size, rows.tick_steps.size) if beyond is None else beyond

    def inputs(self, segments: Segments, number: dict[str, int]) -> AnchorValues:
        """What the loop that sums by value reads, where one earlier event is remembered.

        Args:
            segments: The segments.
            number: The number of each variable.

        Returns:
            Its values, and the tests.
        """
        tests = []
        for condition, prepared in zip(self.lanes.conditions, self.prepared, strict=True):
            for comparison in prepared.comparisons:
                previous, following = self.rows.order_codes_of(comparison.previous, comparison.next)
                test = Comparison(segments.take(previous), comparison.operator, segments.take(following))
                tests.append((number[condition.variable], test))
        asks = frozenset(number[name] for name in self.bits if self.lanes.asks(name))
        value = self._values(0, segments, self._places(segments))
        return AnchorValues(number[self.lanes.anchors[0].variable], value, asks, tuple(tests))

    def _places(self, segments: Segments) -> dict[str, np.ndarray]:
        """Per variable, the places of the rows that can be read as it."""
        return {name: np.flatnonzero((segments.letters & bit).any(axis=1)) for name, bit in self.bits.items()}

    def copy(self, segments: Segments) -> Segments:
        """Copy rows once per variable that they can be read as, and per lane in which they can.

        Args:
            segments: The segments.

        Returns:
            As many segments, with lanes.

        Raises:
            ExecutionError: TW415 where there are too many copies.
        """
        tick = self.rows.tick[segments.row]
        moments = Moments.of(segments, tick, self.beyond[tick])
        places = self._places(segments)
        values = [self._values(number, segments, places) for number in range(len(self.lanes.anchors))]
        copies = [self._copy_variable(name, segments, places, values, moments) for name in places]
        check_copies(sum(place.size for place, _, _ in copies), segments.row.size)
        place = np.concatenate([place for place, _, _ in copies])
        order = np.argsort(place, kind="stable")
        sizes = [place.size for place, _, _ in copies]
        letters = np.repeat(np.stack([self.bits[name] for name in places]), sizes, axis=0)[order]
        before = np.concatenate([before for _, before, _ in copies])[order]
        after = np.concatenate([after for _, _, after in copies])[order]
        place = place[order]
        return replace(
            segments,
            row=segments.row[place],
            letters=letters,
            starts=np.searchsorted(place, segments.starts),
            lanes=Lanes(before, after, np.logical_not(before.any(axis=1))),
        )

    def _copy_variable(
        self,
        variable: str,
        segments: Segments,
        places: dict[str, np.ndarray],
        values: list[np.ndarray],
        moments: Moments,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Per copy its place in the segments, and what is remembered before and after it."""
        own, needed = places[variable], self.lanes.needed.get(variable, ())
        choices = []
        for memory in needed:
            events = places.get(self.lanes.anchors[memory.anchor].variable, own[:0])
            events = events if memory.present else events[:0]
            choices.append(find_choices(own, events, values[memory.anchor], moments, memory.missing))
        at, chosen = combine(own.size, choices) if choices else (np.arange(own.size), np.empty((own.size, 0), np.int64))
        place = own[at]
        event = {memory.anchor: chosen[:, index] for index, memory in enumerate(needed)}
        holds = self._holds(variable, segments.row, place, event)
        place = place[holds]
        before = np.zeros((place.size, len(values)), np.int64)
        after = np.zeros_like(before)
        for number, (anchor, value) in enumerate(zip(self.lanes.anchors, values, strict=True)):
            if number in event:
                remembered = event[number][holds]
                before[:, number] = np.where(remembered < 0, 0, value[remembered])
            after[:, number] = _after(anchor, variable, before[:, number], value[place])
        return place, before, after

    # Values

    def _values(self, number: int, segments: Segments, places: dict[str, np.ndarray]) -> np.ndarray:
        """Per place of the segments, the number of its value as the anchor, from 1 on. Values that no event tells apart
        have one number. Places of rows that cannot be the anchor have any number."""
        values = np.ones(segments.row.size, np.int64)
        setting = places.get(self.lanes.anchors[number].variable)
        if setting is None:
            return values
        row = segments.row[setting]
        parts = []
        for condition, prepared in zip(self.lanes.conditions, self.prepared, strict=True):
            asking = places.get(condition.variable)
            for own, other in enumerate(self.lanes.numbers(condition)):
                if other != number or asking is None:
                    continue
                for comparison in prepared.comparisons:
                    previous, following = self.rows.order_codes_of(comparison.previous, comparison.next)
                    parts.append(_classes(previous[row], following[segments.row[asking]]))
                paths = (path for expression in prepared.general for path in columns_of(expression))
                names = sorted({name for owner, name in paths if owner == str(own)})
                if names:
                    columns = [self.rows.table.column(name) for name in names]
                    parts.append(key_codes(columns, self.rows.table.num_rows)[row])
        codes = np.zeros(row.size, np.int64)
        for part in parts:
            codes = present_codes(codes * (int(part.max(initial=0)) + 1) + part)[0]
        values[setting] = codes + 1
        return values

    # Conditions

    def _holds(self, variable: str, row: np.ndarray, place: np.ndarray, event: dict[int, np.ndarray]) -> np.ndarray:
        """Which copies meet all conditions on the variable; one whose anchors are not all there binds nothing."""
        holds = np.ones(place.size, np.bool_)
        for condition, prepared in zip(self.lanes.conditions, self.prepared, strict=True):
            if condition.variable != variable:
                continue
            anchors = [event[number] for number in self.lanes.numbers(condition)]
            bound = np.flatnonzero(holds & np.logical_and.reduce([anchor >= 0 for anchor in anchors]))
            own, others = row[place[bound]], [row[anchor[bound]] for anchor in anchors]
            good = np.ones(bound.size, np.bool_)
            for comparison in prepared.comparisons:
                previous, following = self.rows.order_codes_of(comparison.previous, comparison.next)
                left, right = previous[others[0]], following[own]
                good &= (left >= 0) & (right >= 0) & _HOLDS[comparison.operator](left, right)
            for expression in prepared.general:
                good[good] = self._decide(expression, own[good], [other[good] for other in others])
            holds[bound] = good
        return holds

    def _decide(self, expression: st.Expression, own: np.ndarray, others: list[np.ndarray]) -> np.ndarray:
        """Evaluate a condition on several rows, some of them at a time."""
        names = {("own", path[0]) for path in columns_of(expression, of_next=True)}
        names |= {(path[0], path[1]) for path in columns_of(expression)}

        def on_one_table(node: st.Attribute | st.NextAttribute) -> st.Expression:
            owner = ("own",) if isinstance(node, st.NextAttribute) else ()
            return st.Attribute(("_".join((*owner, *node.names)),))

        one_table = rewrite_columns(expression, on_one_table)
        answers = np.zeros(own.size, np.bool_)
        for low, high in pairwise([*range(0, own.size, _COPIES_AT_ONCE), own.size]):
            columns = {
                f"{owner}_{name}": self.rows.table.column(name).take(
                    pa.array((own if owner == "own" else others[int(owner)])[low:high])
                )
                for owner, name in sorted(names)
            }
            answers[low:high] = is_true(one_table, pa.table(columns))
        return answers


def lane_codes(segments: Segments, anchors: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Codes that are equal where one copy remembers after its event what another one asks for before its own."""
    assert segments.lanes is not None, "only copies of rows have lanes"
    before, after = segments.lanes.before, segments.lanes.after
    if len(anchors) == 1:
        return np.ascontiguousarray(after[:, anchors[0]]), np.ascontiguousarray(before[:, anchors[0]])
    return joint_codes([(after[:, number], before[:, number]) for number in anchors])


def _after(anchor: Anchor, variable: str, before: np.ndarray, own: np.ndarray) -> np.ndarray:
    """What is remembered of an anchor after an event read as the variable."""
    if anchor.variable != variable:
        return np.zeros_like(before) if anchor.kind == "previous" else before
    return np.where(before == 0, own, before) if anchor.kind == "first" else own


def _classes(codes: np.ndarray, compared: np.ndarray) -> np.ndarray:
    """Number codes by where they lie among those that they are compared with, where that can make them fewer: 0 is
    NULL."""
    if codes.size <= compared.size:
        return np.where(codes < 0, 0, np.unique(codes, return_inverse=True)[1] + 1)
    values = different_numbers(compared[compared >= 0])
    places = np.searchsorted(values, codes) + np.searchsorted(values, codes, side="right")
    return np.where(codes < 0, 0, places + 1)
