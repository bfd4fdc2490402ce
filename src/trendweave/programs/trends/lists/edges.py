"""Edges of the graph of successors: conditions of transitions as compiled conditions on two rows, and what finds the
rows that meet them: loops that are written for each condition, or a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from trendweave.expressions.compiled.condition import NotCompiled
from trendweave.expressions.compiled.loading import AROUND_CONDITION
from trendweave.expressions.compiled.paired import LEFT, RIGHT, PairColumn, PairCondition, pair_condition
from trendweave.gpu.links import CardLinks
from trendweave.kernel_cache.kernel import load_text
from trendweave.kernels import Condition
from trendweave.language import syntax_tree as st
from trendweave.planning.plan import Plan
from trendweave.planning.planner import columns_of
from trendweave.planning.predicates import rewrite_columns
from trendweave.planning.preparation import PreparedEdge
from trendweave.programs.trends.kernel_inputs import KernelInputs, Piece
from trendweave.programs.trends.pair_tests import pair_test

_ZERO = st.Literal(0)
_ORDERS = ("<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True)
class LinkCondition:
    """When a row can follow an earlier one along a transition.

    Attributes:
        pair: What is tested of two rows.
        equal: Codes of the earlier and of the later row that must be equal, and not below zero.
        order: A comparison of codes that `pair` tests, too: those of the earlier row, its operator, those of the later.
        guard: Per later row, the tick before which no earlier one can be.
        answers: Where a part of the condition was decided beforehand, for all pairs of the last two columns of `pair`.
        why_not: What of the condition is not compiled, and decided beforehand.
    """

    pair: PairCondition
    equal: tuple[np.ndarray, np.ndarray] | None
    order: tuple[np.ndarray, str, np.ndarray] | None
    guard: np.ndarray | None
    answers: np.ndarray | None = None
    why_not: str | None = None


@dataclass(frozen=True, slots=True)
class Candidates:
    """The rows that can follow some sources along a transition as far as time, windows and equal values say: those of
    the targets from `low` to `high`. Sources and targets are row numbers, `state` is where the transition leads."""

    state: int
    condition: LinkCondition
    sources: np.ndarray
    targets: np.ndarray
    low: np.ndarray
    high: np.ndarray


#: Gives the places of sources and of targets between `low` and `high` of their source that meet the condition, the
#: sources of each target ascending: all of them, or None where there are more than so many; or, without a number, of
#: each source the first.
Linker: TypeAlias = Callable[[Candidates, int | None], tuple[np.ndarray, np.ndarray] | None]


def link_conditions(inputs: KernelInputs, piece: Piece) -> list[LinkCondition]:
    """The conditions of the transitions of a piece, over its rows; each is compiled once."""
    edges = inputs.edges_of(piece.template)
    made: dict[Any, LinkCondition] = {}
    found = []
    for edge, condition in zip(edges, inputs.conditions(piece, tests_pairs=False), strict=True):
        key = (edge.general, *((id(one.previous), one.operator, id(one.next)) for one in condition.comparisons))
        if key not in made:
            made[key] = _compile(inputs, piece, edge, condition)
        found.append(replace(made[key], guard=condition.guard))
    return found


def _compile(inputs: KernelInputs, piece: Piece, edge: PreparedEdge, condition: Condition) -> LinkCondition:
    columns: dict[str, pa.ChunkedArray] = {}
    parts: list[st.Expression] = []
    equal, order = None, None
    for place, one in enumerate(condition.comparisons):
        codes = [np.ascontiguousarray(side, np.int64) for side in (one.previous, one.next)]
        if one.operator == "=" and equal is None:
            equal = codes[0], codes[1]
            continue
        if one.operator in _ORDERS and order is None:
            order = codes[0], one.operator, codes[1]
        names = [f"code {place} {side}" for side in (LEFT, RIGHT)]
        sides = [st.Attribute((side, name)) for side, name in zip((LEFT, RIGHT), names, strict=True)]
        for name, side, values in zip(names, sides, codes, strict=True):
            columns[name] = pa.chunked_array([pa.array(values)])
            if values.min(initial=0) < 0:  # NULL, which compares true with nothing
                parts.append(st.Comparison(">=", side, _ZERO))
        parts.append(st.Comparison(one.operator, *sides))
    general = [_of_two_rows(part) for part in edge.general]
    row = pa.array(piece.segments.row)
    read = {path[0] for part in edge.general for later in (False, True) for path in columns_of(part, later)}
    columns |= {name: inputs.rows.table.column(name).take(row) for name in read}
    compiled = _all_of([*parts, *general], columns)
    if not isinstance(compiled, NotCompiled):
        return LinkCondition(compiled, equal, order, None)
    known = pair_test(edge.general, inputs.rows.table, piece.segments)
    rest = _all_of(parts, columns)
    assert known is not None, "codes are compared by compiled code"
    assert not isinstance(rest, NotCompiled), rest
    numbers = [np.ascontiguousarray(side, np.int64) for side in (known.previous, known.next)]
    asked = PairColumn(LEFT, numbers[0]), PairColumn(RIGHT, numbers[1])
    pair = replace(rest, columns=(*rest.columns, *asked))
    return LinkCondition(pair, equal, order, None, np.ascontiguousarray(known.answers), compiled.reason)


def _all_of(parts: Sequence[st.Expression], columns: dict[str, pa.ChunkedArray]) -> PairCondition | NotCompiled:
    return pair_condition(st.all_of(tuple(parts)) if parts else st.Literal(True), columns)


def _of_two_rows(expression: st.Expression) -> st.Expression:
    """A condition on an event and the one after it, as one on a left and a right row."""

    def name(node: st.Attribute | st.NextAttribute) -> st.Expression:
        return st.Attribute((RIGHT if isinstance(node, st.NextAttribute) else LEFT, *node.names))

    return rewrite_columns(expression, name)


#: Pairs that there is room for at first.
_FIRST_ROOM = 1 << 16
#: How many times as many, where there is not enough.
_GROWTH = 8
#: Targets that are looked at before anything is written down: a loop without branches takes several at once. Of so
#: many the least and the largest code are known.
_TOGETHER = 128
#: What the largest (or least) code of some targets must be for one of them to follow a source.
_BOUNDS = {"<": "> ", "<=": ">=", ">": "< ", ">=": "<="}

_LOOP = """
@loop
def find_links({columns}answers, codes, bounds, low, high, first, only_first, found_from, found_to):
    used = 0
    for i in range(first, low.size):
        heed_stop()
        {taken}
        begin, before = low[i], used
        while begin < high[i]:
            end = min((begin // {together} + 1) * {together}, high[i])
            some = False
            if {may_hold}:
                for j in range(begin, end):
                    some |= {holds}
            if some:
                if used + end - begin > found_from.size:
                    return i, before
                for j in range(begin, end):
                    if {holds}:
                        found_from[used], found_to[used] = i, j
                        used += 1
                        if only_first:
                            break
                if only_first:
                    break
            begin = end
    return low.size, used
"""


def link_rows(asked: Candidates, room: int | None) -> tuple[np.ndarray, np.ndarray] | None:
    """Link rows in this process; see `Linker`."""
    only_first, low, high = room is None, asked.low, asked.high
    room = low.size if room is None else room
    loop, given = _load_loop(*_describe(asked.condition)), _gather(asked)
    found_from, found_to = np.empty((2, min(room, _FIRST_ROOM) + _TOGETHER), np.int64)
    used, first = 0, 0
    while True:
        first, more = loop(*given, low, high, first, only_first, found_from[used:], found_to[used:])
        used += more
        if used > room or (first < low.size and found_from.size >= room + _TOGETHER):
            return None
        if first == low.size:
            return found_from[:used], found_to[:used]
        # Memory that is not written yet takes no time: few times more is asked for, and only pairs are copied.
        more_room = np.empty((2, min(_GROWTH * found_from.size, room + _TOGETHER)), np.int64)
        more_room[0, :used], more_room[1, :used] = found_from[:used], found_to[:used]
        found_from, found_to = more_room


def link_on_card(links: CardLinks, asked: Candidates, room: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Link rows on a card, where all of them fit; see `Linker`."""
    if asked.condition.why_not is not None:
        raise NotLinkedError(f"a condition on two events that is not compiled ({asked.condition.why_not})")
    given = asked.condition.pair, asked.sources, asked.targets, asked.low, asked.high
    if room is None:
        first = links.find_first(*given)
        some = np.flatnonzero(first >= 0)
        return some, first[some]
    found = links.find_all(*given, room)
    if found is None:
        raise NotLinkedError(f"more than {room:,} links between events")
    return found


def _describe(condition: LinkCondition) -> tuple[str, tuple[bool, ...], str, bool]:
    order = "" if condition.order is None else condition.order[1]
    is_left = tuple(column.side == LEFT for column in condition.pair.columns)
    return condition.pair.python, is_left, order, condition.answers is not None


def _gather(asked: Candidates) -> list[np.ndarray]:
    """What the loops read of sources and targets, of the answers that are known, and the bounds of codes."""
    condition, sources, targets = asked.condition, asked.sources, asked.targets
    columns = [column.values[sources if column.side == LEFT else targets] for column in condition.pair.columns]
    answers = np.ones((1, 1), np.bool_) if condition.answers is None else condition.answers
    codes = bounds = np.empty(0, np.int64)
    if condition.order is not None:
        earlier, operator, later = condition.order
        codes, values, places = earlier[sources], later[targets], np.arange(0, targets.size, _TOGETHER)
        if not places.size:
            bounds = values
        elif operator in ("<", "<="):
            bounds = np.maximum.reduceat(values, places)
        else:  # NULL is larger than all
            bounds = np.minimum.reduceat(values.view(np.uint64), places).view(np.int64)
    return [*columns, answers, codes, bounds]


@lru_cache(256)
def _load_loop(python: str, is_left: tuple[bool, ...], order: str, asks: bool) -> Any:
    """The loop for a condition: of each source from the first on all targets that can follow, or only the first one. It
    returns the source that there was no room for, and how many were found before it."""
    taken = [f"s{number} = c{number}[i]" for number, left in enumerate(is_left) if left]
    passed = [f"s{number}" if left else f"c{number}[j]" for number, left in enumerate(is_left)]
    holds = f"test({', '.join(passed[:-2] if asks else passed)})"
    if asks:
        holds = f"({holds} and answers[{passed[-2]}, {passed[-1]}])"
    if order:
        taken.append("code = codes[i]")
    loop = _LOOP.format(
        columns="".join(f"c{number}, " for number in range(len(is_left))),
        taken="; ".join(taken) or "pass",
        holds=holds,
        may_hold=f"bounds[begin // {_TOGETHER}] {_BOUNDS[order]} code" if order else "True",
        together=_TOGETHER,
    )
    source = AROUND_CONDITION.format(condition=python, loop=loop)
    return load_text("from trendweave.kernels.stopping import heed_stop\n" + source, "find_links")


class NotLinkedError(Exception):
    """A card does not link these rows or conditions; it says why, as a part of a sentence."""


#: States of a pattern; each pair of neighbouring ones is linked by itself.
MOST_STATES = 16


def why_not_linked(plan: Plan) -> str | None:
    """Say what of a query is in the way, or None where nothing is.

    Args:
        plan: A plan that finds trends one by one.

    Returns:
        The reason as a part of a sentence.
    """
    if plan.is_conjunction:
        return "a conjunction of patterns"
    if plan.negations:
        return "a pattern with NOT"
    if plan.complete:
        return "a choice of complete trends"
    if plan.anchors:
        return "a condition on events of a trend that are no neighbours"
    if plan.strategy == "contiguous":
        return "a contiguous match"
    if len(plan.template.states) > MOST_STATES:
        return f"a pattern of more than {MOST_STATES} symbols"
    return None
