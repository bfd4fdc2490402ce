"""Finds edges of the graph of successors: by loops that are written for each condition, or on a GPU."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from trendweave.expressions.compiled.loading import AROUND_CONDITION
from trendweave.expressions.compiled.paired import LEFT
from trendweave.gpu.matching.links import CardLinks
from trendweave.kernel_cache.kernel import load_text
from trendweave.planning.plan import Plan
from trendweave.programs.trends.lists.conditions import Candidates, LinkCondition

#: Pairs that there is room for at first.
_FIRST_ROOM = 1 << 16
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
        if used > room or (first < low.size and found_from.size > room + _TOGETHER):
            return None
        if first == low.size:
            return found_from[:used], found_to[:used]
        found_from, found_to = (np.concatenate([part, np.empty_like(part)]) for part in (found_from, found_to))


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
