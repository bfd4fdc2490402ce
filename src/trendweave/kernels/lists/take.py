"""The writers of loops that find the trends which AFTER MATCH SKIP and PER START may take.

From late to early each vertex learns how the first of its trends goes on (`onward`) and where it ends (`end`), so a
beginning costs as little as the vertices before it. Where each trend has a window that stands at its first event, that
is done once for a segment, and again inside of the window of a beginning whose trend does not end there.

Beginnings are collected, some at a time, with the end of the first trend of each and what is folded over it; which of
them are taken is settled elsewhere, and only the trends of those are written. Where conditions on whole matches choose
among the trends of a beginning, the others are walked, folded as they grow. A *candidate* is a trend of a beginning,
numbered in the order of that walk.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from trendweave.kernels.compiling import inner
from trendweave.kernels.lists.folds import Fold, FoldText, Loop, cells_at
from trendweave.kernels.loops.text import Text
from trendweave.kernels.stopping import heed_stop

#: The last tick at which no trend may begin, where all may: before every tick.
NOTHING_TAKEN = -1
#: How a trend is found again: onward from its beginning, or by a search; candidates have numbers from 0 on.
ONWARD, SEARCHED = -1, -2
#: Later than all windows.
_NEVER = 2**63 - 1
#: Whether a trend may end at a vertex in a window.
_IS_INSIDE = "window_first[{0}] <= window and window <= end_until[{0}]"


@dataclass(frozen=True)
class TakeShape:
    """Whether the first trend of a beginning is the one that ends first, or last; whether windows stand at first
    events, as each trend has its own; and what is folded."""

    shortest: bool
    from_first: bool
    folds: tuple[Fold, ...] = ()

    def better(self, one: str, other: str) -> str:
        """Whether a trend that ends at one vertex comes before those that end at another."""
        return f"tick[{one}] {'<' if self.shortest else '>'} tick[{other}]"


def _ahead(place: str):
    return cells_at("ahead", "ahead_real", place)


def _stack(depth: str):
    return cells_at("stack", "stack_real", depth)


def _write_ways(shape: TakeShape) -> Loop:
    """From late to early over the vertices `first` to `stop`, ends in a window or later ones."""
    text = Text()
    # Where windows stand at first events, folds follow each trend instead.
    folds = FoldText(text, () if shape.from_first else shape.folds)
    with text.block("for v in range(stop - 1, first - 1, -1)"):
        text.put("heed_stop()", "ends, best, last = end_until[v] >= window, -1, -1")
        with text.block("for i in range(follow_starts[v], follow_starts[v + 1])"):
            text.put("w = int64(follow[i])")
            with text.block("if w < stop and end[w] >= 0"):
                with text.block(f"if best < 0 or {shape.better('end[w]', 'last')}"):
                    text.put("best, last = w, int64(end[w])")
        with text.block("if ends" if shape.shortest else "if ends and best < 0"):
            text.put("best, last = -1, v")
        text.put("onward[v], end[v] = best, last")
        if folds.shape:
            with text.block("if last >= 0"):
                with text.block("if best >= 0"):
                    folds.copy(_ahead("best"), _ahead("v"))
                with text.block("else"):
                    folds.begin(_ahead("v"))
                folds.grow(_ahead("v"), "row[v]", "variable[v]", in_front=True)
    return Loop.of("find_ways", text)


def _open_entry(text: Text, shape: TakeShape, ways: Loop) -> None:
    """Lines that find the ways of an entry, unless they are `known`."""
    if shape.from_first:
        with text.block("if known != segment"):
            bounds = {"first": "segment_starts[segment]", "stop": "segment_starts[segment + 1]"}
            text.put(ways.call(**bounds, window=str(1 - _NEVER)), "known = segment")
    else:
        with text.block("if known != entry"):
            text.put(ways.call(first="low", stop="high"), "known = entry")


def _search(text: Text, shape: TakeShape, ways: Loop, v: str) -> None:
    """Lines that find the ways inside a window, from a vertex to the last end that is reached from it."""
    text.put("far = high")
    if not shape.shortest:
        text.put(f"far = min(end[{v}] + 1, high)")
        with text.block(f"while far < high and tick[far] == tick[end[{v}]]"):
            text.put("far += 1")
    text.put(ways.call(first=v, stop="far", onward="near_onward", end="near_end"))


def _write_advance(shape: TakeShape) -> Loop:
    """From a path of `size` vertices to the next candidate; how many it has, 0 where there is none."""
    text = Text()
    folds = FoldText(text, shape.folds)
    text.put("depth = size")
    with text.block("while depth > 0"):
        text.put("heed_stop()", "v, w = path[depth - 1], -1")
        text.put("i, stop = cursor[depth - 1], follow_starts[v + 1]")
        with text.block("while i < stop and w < 0"):
            with text.block("if window_first[follow[i]] <= window and reach[follow[i]] <= window"):
                text.put("w = int64(follow[i])")
            text.put("i += 1")
        text.put("cursor[depth - 1] = i")
        with text.block("if w < 0"):
            text.put("depth -= 1", "continue")
        text.put("path[depth], cursor[depth] = w, follow_starts[w]")
        folds.copy(_stack("depth - 1"), _stack("depth"))
        folds.grow(_stack("depth"), "row[w]", "variable[w]")
        text.put("depth += 1")
        with text.block(f"if {_IS_INSIDE.format('w')}"):
            text.put("return depth")
    text.put("return 0")
    return Loop.of("advance", text)


def _begin_path(text: Text, shape: TakeShape, advance: Loop) -> None:
    """Lines that begin a path at `v` with its first candidate."""
    folds = FoldText(text, shape.folds)
    text.put("path[0], cursor[0], depth = v, follow_starts[v], 1")
    folds.begin(_stack("0"))
    folds.grow(_stack("0"), "row[v]", "variable[v]")
    with text.block(f"if not ({_IS_INSIDE.format('v')})"):
        text.put(f"depth = {advance.call(size='depth')}")


@lru_cache(64)
def write_collect(shape: TakeShape) -> Loop:
    """The loop that collects beginnings, about `most`, from where `state` stands: the entry, the next vertex (-1: the
    entry is new), of what the ways are known, and how many vertices were searched. Left out is what begins up to the
    `limit` of the place of its entry. Returns how many there are; those of one tick come together."""
    text, ways = Text(), _write_ways(shape)
    folds, now = FoldText(text, shape.folds), cells_at("whole", "real", "found")
    text.put("entry, at, known, searched, found = state[0], state[1], state[2], state[3], 0")
    with text.block("while entry < len(entry_low)"):
        text.put("segment, window = entry_segment[entry], entry_window[entry]")
        text.put("low, high, until = entry_low[entry], entry_high[entry], limit[entry_place[entry]]")
        with text.block("if at < 0"):
            text.put("at = low")
            _open_entry(text, shape, ways)
        # In windows that stand at first events nothing begins later.
        with text.block(f"while at < high{' and tick[at] == tick[low]' if shape.from_first else ''}"):
            text.put("heed_stop()", "stop = at + 1")
            with text.block("while stop < high and tick[stop] == tick[at]"):
                text.put("stop += 1")
            with text.block("if found > 0 and found + stop - at > most"):
                text.put("state[0], state[1], state[2], state[3] = entry, at, known, searched", "return found")
            with text.block("for v in range(at, stop if tick[at] > until else at)"):
                with text.block("if start_from[v] > window"):
                    text.put("continue")
                text.put(f"last, how = int64(end[v]), {ONWARD}")
                if shape.from_first:
                    with text.block(f"if last >= 0 and not ({_IS_INSIDE.format('last')})"):
                        text.put("last = -1")
                        with text.block("if reach[v] <= window"):
                            _search(text, shape, ways, "v")
                            text.put(f"last, how = int64(near_end[v]), {SEARCHED}", "searched += far - v")
                with text.block("if last < 0"):
                    text.put("continue")
                text.put("start_entry[found], start_vertex[found] = entry, v")
                text.put("start_end[found], start_how[found] = last, how")
                if shape.folds and shape.from_first:
                    folds.begin(now)
                    text.put("w = v")
                    with text.block("while w >= 0"):
                        folds.grow(now, "row[w]", "variable[w]")
                        text.put(f"w = int64(near_onward[w] if how == {SEARCHED} else onward[w])")
                else:
                    folds.copy(_ahead("v"), now)
                text.put("found += 1")
            text.put("at = stop")
        text.put("entry += 1", "at = -1")
    text.put("state[0], state[1], state[2], state[3] = entry, at, known, searched", "return found")
    return Loop.of("collect", text, ways.text)


@lru_cache(64)
def write_candidates(shape: TakeShape) -> Loop:
    """The loop that walks the candidates of some beginnings, from those on that were walked before, as many as are
    wanted: per beginning `came` and whether these were the last. Returns how many came; what has no room any more is
    left for another call."""
    text, advance = Text(), _write_advance(shape)
    folds = FoldText(text, shape.folds)
    text.put("used = 0")
    with text.block("for s in range(len(of_vertex))"):
        text.put("v, window, number = of_vertex[s], of_window[s], 0")
        _begin_path(text, shape, advance)
        with text.block("while depth > 0 and came[s] < wanted[s]"):
            with text.block("if number >= before[s]"):
                with text.block("if used == len(found_start)"):
                    text.put("return used")
                text.put("found_start[used], found_number[used], found_end[used] = s, number, path[depth - 1]")
                folds.copy(_stack("depth - 1"), cells_at("whole", "real", "used"))
                text.put("came[s] += 1", "used += 1")
            text.put("number += 1", f"depth = {advance.call(size='depth')}")
        text.put("is_over[s] = depth == 0")
    text.put("return used")
    return Loop.of("walk_candidates", text, advance.text)


@lru_cache(64)
def write_trends(shape: TakeShape) -> Loop:
    """The loop that writes the trends of some beginnings, from the first of `start_entry` on, as long as there is room;
    it returns how many. `state` is of what the ways are known."""
    text, ways, advance = Text(), _write_ways(shape), _write_advance(shape)
    text.put("known, trends, used = state[0], 0, 0", "starts[0] = 0")
    with text.block("for s in range(len(start_entry))"):
        text.put("heed_stop()", "entry, v, how, depth = start_entry[s], start_vertex[s], start_how[s], 0")
        text.put("segment, window = entry_segment[entry], entry_window[entry]")
        text.put("low, high = entry_low[entry], entry_high[entry]")
        with text.block("if how >= 0"):
            _begin_path(text, shape, advance)
            with text.block("for i in range(how)"):
                text.put(f"depth = {advance.call(size='depth')}")
        with text.block("else"):
            _open_entry(text, shape, ways)
            if shape.from_first:
                with text.block(f"if how == {SEARCHED}"):
                    _search(text, shape, ways, "v")
            text.put("w = int64(v)")
            with text.block("while w >= 0"):
                text.put("path[depth] = w", "depth += 1")
                near = f"near_onward[w] if how == {SEARCHED} else onward[w]"
                text.put(f"w = int64({near if shape.from_first else 'onward[w]'})")
        with text.block("if trends == len(starts) - 1 or used + depth > len(vertices)"):
            text.put("break")
        with text.block("for i in range(depth)"):
            text.put("vertices[used + i] = path[i]")
        text.put("used += depth", "trends += 1", "starts[trends] = used")
    text.put("state[0] = known", "return trends")
    return Loop.of("write_trends", text, ways.text, advance.text)


def new_ways(vertices: int) -> dict[str, np.ndarray]:
    """Make room for how trends go on from so many vertices, by the names of loops."""
    return {name: np.empty(vertices, np.int32) for name in ("onward", "end", "near_onward", "near_end")}


@inner
def take_in_order(place, tick, until, limit, taken):
    """Take trends one after the other, as long as they begin later than the limit of their place; each raises it."""
    for i in range(place.size):
        heed_stop()
        if tick[i] > limit[place[i]]:
            taken[i] = True
            limit[place[i]] = max(limit[place[i]], until[i])
