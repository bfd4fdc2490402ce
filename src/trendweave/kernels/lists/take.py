"""The writers of loops that find the trends which AFTER MATCH SKIP and PER START take, and no others.

From late to early each vertex learns how the first of its trends goes on (`onward`) and where it ends (`end`), so a
beginning costs as much as the trend that is taken of it, and one that is taken away costs nothing. Where each trend has
a window that stands at its first event, that is done once for a segment, and again inside of the window of a beginning
whose trend does not end there.

Where conditions on whole matches choose among the trends of a beginning, the first of each is folded and judged
elsewhere; only where it fails are the others walked, folded as they grow. A *candidate* is a trend of a beginning,
numbered in the order of that walk.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from trendweave.kernels.lists.contiguous import PAST_LAST, TO_FIRST, TO_LAST, TO_NEXT, Rule
from trendweave.kernels.lists.folds import Fold, FoldText, Loop, cells_at, load_loop
from trendweave.kernels.loops.text import Text

#: The last tick at which no trend may begin, where all may: before every tick.
NOTHING_TAKEN = -1
#: How a trend is found again: onward from its beginning, or by a search; candidates have numbers from 0 on.
ONWARD, SEARCHED = -1, -2
#: Later than all windows.
_NEVER = 2**63 - 1
#: What loops know of vertices: what follows each in order of time, variable and place; and per vertex `onward` and
#: `end`, or -1.
_GRAPH = ("tick", "window_first", "end_until", "follow_starts", "follow", "row", "variable")
_WAYS = ("onward", "end", "reach", "near_onward", "near_end")
_ENTRIES = ("start_from", "entry_segment", "entry_window", "entry_low", "entry_high", "limit", "segment_starts")


@dataclass(frozen=True)
class TakeShape:
    """Which trends are taken; whether something is asked of whole trends; and what is folded over the events, which are
    then not listed. Windows stand at first events where each trend has its own."""

    rule: Rule
    judged: bool
    folds: tuple[Fold, ...] = ()

    @property
    def from_first(self) -> bool:
        """Whether windows stand at first events."""
        return not self.rule.by_window


def _ahead(place: str):
    return cells_at("ahead", "ahead_real", place)


def _stack(depth: str):
    return cells_at("stack", "stack_real", depth)


class _Writer:
    def __init__(self, shape: TakeShape) -> None:
        self.shape, self.text = shape, Text()
        self.folds = FoldText(self.text, shape.folds)
        self.is_inside = "window_first[{0}] <= window and window <= end_until[{0}]"
        #: Whether folds are carried from each vertex to those before it.
        self.carries = bool(shape.folds) and not shape.from_first
        stack = (*self.folds.takes, "stack", "stack_real") if shape.folds else ()
        self.read_by_advance = ("window", *_GRAPH, "reach", "path", "cursor", *stack)

    def better(self, one: str, other: str) -> str:
        return f"tick[{one}] {'<' if self.shape.rule.shortest else '>'} tick[{other}]"

    def write_ways(self) -> None:
        """From late to early over the vertices `first` to `stop`, ends in a window or later ones."""
        text, folds = self.text, self.folds
        with text.block_of("find_ways", ("first", "stop", "window", "onward", "end", *self.read_by_ways)):
            with text.block("for v in range(stop - 1, first - 1, -1)"):
                text.put("heed_stop()", "ends, best, last = end_until[v] >= window, -1, -1")
                with text.block("for i in range(follow_starts[v], follow_starts[v + 1])"):
                    text.put("w = np.int64(follow[i])")
                    with text.block("if w < stop and end[w] >= 0"):
                        with text.block(f"if best < 0 or {self.better('end[w]', 'last')}"):
                            text.put("best, last = w, np.int64(end[w])")
                with text.block("if ends" if self.shape.rule.shortest else "if ends and best < 0"):
                    text.put("best, last = -1, v")
                text.put("onward[v], end[v] = best, last")
                if self.carries:
                    with text.block("if last >= 0"):
                        with text.block("if best >= 0"):
                            folds.copy(_ahead("best"), _ahead("v"))
                        with text.block("else"):
                            folds.begin(_ahead("v"))
                        folds.grow(_ahead("v"), "row[v]", "variable[v]", in_front=True)
        text.put("", "")

    @property
    def read_by_ways(self) -> tuple[str, ...]:
        """What else is read and written where ways are found."""
        folded = ("row", "variable", *self.folds.takes, "ahead", "ahead_real") if self.carries else ()
        return ("tick", "end_until", "follow_starts", "follow", *folded)

    def find_ways(self, first: str, stop: str, window: str, near: str = "") -> None:
        asked = ", ".join((first, stop, window, f"{near}onward", f"{near}end", *self.read_by_ways))
        self.text.put(f"find_ways({asked})")

    def open_entry(self, known: str) -> None:
        """Find the ways of a new entry, unless it is known."""
        if self.shape.from_first:
            with self.text.block(f"if {known} != segment"):
                bounds = "segment_starts[segment]", "segment_starts[segment + 1]"
                self.find_ways(*bounds, str(1 - _NEVER))
                self.text.put(f"{known} = segment")
        else:
            with self.text.block(f"if {known} != entry"):
                self.find_ways("low", "high", "window")
                self.text.put(f"{known} = entry")

    def find_end(self, v: str) -> None:
        """The end of the first trend of a beginning, `last`, and how it is found, `how`."""
        text = self.text
        text.put(f"last, how = np.int64(end[{v}]), {ONWARD}")
        if self.shape.from_first:
            with text.block(f"if last >= 0 and not ({self.is_inside.format('last')})"):
                text.put("last = -1")
                with text.block(f"if reach[{v}] <= window"):
                    self.search(v)
                    text.put(f"last, how = np.int64(near_end[{v}]), {SEARCHED}")

    def search(self, v: str) -> None:
        """The ways inside a window, from a vertex to the last end that is reached from it."""
        text = self.text
        text.put("far = high")
        if not self.shape.rule.shortest:
            text.put(f"far = min(end[{v}] + 1, high)")
            with text.block(f"while far < high and tick[far] == tick[end[{v}]]"):
                text.put("far += 1")
        self.find_ways(v, "far", "window", "near_")

    def write_advance(self) -> None:
        """From a path of so many vertices to the next candidate; how many it has, 0 where there is none."""
        text, folds = self.text, self.folds
        with text.block_of("advance", ("depth", *self.read_by_advance)):
            with text.block("while depth > 0"):
                text.put("heed_stop()", "v, w = path[depth - 1], -1")
                text.put("i, stop = cursor[depth - 1], follow_starts[v + 1]")
                with text.block("while i < stop and w < 0"):
                    with text.block("if window_first[follow[i]] <= window and reach[follow[i]] <= window"):
                        text.put("w = np.int64(follow[i])")
                    text.put("i += 1")
                text.put("cursor[depth - 1] = i")
                with text.block("if w < 0"):
                    text.put("depth -= 1", "continue")
                text.put("path[depth], cursor[depth] = w, follow_starts[w]")
                folds.copy(_stack("depth - 1"), _stack("depth"))
                folds.grow(_stack("depth"), "row[w]", "variable[w]")
                text.put("depth += 1")
                with text.block(f"if {self.is_inside.format('w')}"):
                    text.put("return depth")
            text.put("return 0")
        text.put("", "")

    def begin_path(self, v: str) -> None:
        """Begin a path with its first candidate."""
        text, folds = self.text, self.folds
        text.put(f"path[0], cursor[0], depth = {v}, follow_starts[{v}], 1")
        folds.begin(_stack("0"))
        folds.grow(_stack("0"), f"row[{v}]", f"variable[{v}]")
        with text.block(f"if not ({self.is_inside.format(v)})"):
            self.advance()

    def advance(self) -> None:
        self.text.put(f"depth = advance(depth, {', '.join(self.read_by_advance)})")

    @contextmanager
    def beginnings(self) -> Iterator[None]:
        """Lines for each time of each entry with which trends may begin, the vertices `at` to `stop`."""
        text, from_first = self.text, self.shape.from_first
        with text.block("while entry < entry_low.size"):
            text.put("segment, window = entry_segment[entry], entry_window[entry]")
            text.put("low, high = entry_low[entry], entry_high[entry]")
            with text.block("if at < 0"):
                text.put("at = low")
                fresh = "entry == 0 or segment != entry_segment[entry - 1]"
                with text.block_if(fresh if from_first else None):
                    text.put("until = limit[entry]")
                self.open_entry("known")
            # In windows that stand at first events nothing begins later.
            with text.block(f"while at < high{' and tick[at] == tick[low]' if from_first else ''}"):
                text.put("heed_stop()", "stop = at + 1")
                with text.block("while stop < high and tick[stop] == tick[at]"):
                    text.put("stop += 1")
                yield
            text.put("limit[entry] = until", "entry += 1", "at = -1")

    def write_take(self) -> Loop:
        shape, text, folds = self.shape, self.text, self.folds
        self.write_ways()
        if shape.judged:
            self.write_advance()
        takes = [*_GRAPH, "place", *_WAYS, *_ENTRIES, "gone", "path", "state", "found_entry", "starts", "vertices"]
        if shape.folds:
            takes += [*folds.takes, "ahead", "ahead_real", "whole", "real"]
        if shape.judged:
            takes += ["cursor", "decided", "decided_end", "decided_how"]
            takes += ["stack", "stack_real"] * bool(shape.folds)
        with text.block_of("take", tuple(takes)):
            text.put("entry, at, until, known, skipped = state[0], state[1], state[2], state[3], state[4]")
            text.put("trends, used, room, d = 0, 0, found_entry.size, 0", "starts[0] = 0")
            with self.beginnings():
                if shape.judged:
                    with text.block("if entry * (tick.size + 1) + at >= state[5]"):
                        self.leave()
                with text.block("if tick[at] <= until"):
                    text.put("skipped += stop - at", "at = stop", "continue")
                self.find_first()
                with text.block("if best < 0"):
                    text.put("at = stop", "continue")
                self.write_trend()
                if shape.rule.kind == TO_NEXT:
                    text.put("at = v")
                elif shape.rule.kind == PAST_LAST:
                    text.put("until = max(until, tick[best_end])")
                else:
                    self.take_away()
            self.leave()
        return load_loop(text, "take", takes)

    def leave(self) -> None:
        self.text.put("state[0], state[1], state[2], state[3], state[4] = entry, at, until, known, skipped")
        self.text.put("return trends")

    def find_first(self) -> None:
        """The first trend that begins at a tick; where each takes only its own beginning away, rows are taken as they
        come."""
        shape, text = self.shape, self.text
        text.put(f"best, best_end, best_how, v = -1, -1, {ONWARD}, at")
        with text.block(f"while v < stop{' and best < 0' if shape.rule.kind == TO_NEXT else ''}"):
            text.put(f"own, own_end, own_how, of = -1, -1, {ONWARD}, row[v]")
            with text.block("while v < stop and row[v] == of"):
                gone = " and gone[v] != entry" if shape.rule.kind in (TO_FIRST, TO_LAST) else ""
                with text.block(f"if start_from[v] <= window{gone}"):
                    if shape.judged:
                        text.put(f"last, how, key = -1, {ONWARD}, entry * (tick.size + 1) + v")
                        # Rows of one tick may be looked at again.
                        with text.block("while d > 0 and decided[d - 1] >= key"):
                            text.put("d -= 1")
                        with text.block("while d < decided.size and decided[d] < key"):
                            text.put("d += 1")
                        with text.block("if d < decided.size and decided[d] == key"):
                            text.put("last, how = decided_end[d], decided_how[d]")
                    else:
                        self.find_end("v")
                    tie = "tick[last] == tick[own_end] and variable[v] < variable[own]"
                    with text.block(f"if last >= 0 and (own < 0 or {self.better('last', 'own_end')} or ({tie}))"):
                        text.put("own, own_end, own_how = v, last, how")
                text.put("v += 1")
            with text.block("if own < 0"):
                text.put("continue")
            tie = f"{self.better('own_end', 'best_end')} or "
            tie += "(tick[own_end] == tick[best_end] and place[own] < place[best])"
            with text.block(
                f"if best < 0 or variable[own] < variable[best] or (variable[own] == variable[best] and ({tie}))"
            ):
                text.put("best, best_end, best_how = own, own_end, own_how")

    def write_trend(self) -> None:
        """Write the trend that is taken, if there is room for it."""
        shape, text, folds = self.shape, self.text, self.folds
        text.put("depth = 0")
        if shape.judged:
            with text.block("if best_how >= 0"):
                self.begin_path("best")
                with text.block("for i in range(best_how)"):
                    self.advance()
        if not shape.folds:
            if shape.from_first:
                with text.block(f"if best_how == {SEARCHED}"):
                    self.search("best")
            with text.block("if best_how < 0"):
                text.put("w = best")
                with text.block("while w >= 0"):
                    text.put("path[depth] = w", "depth += 1")
                    near = f"near_onward[w] if best_how == {SEARCHED} else onward[w]"
                    text.put(f"w = np.int64({near if shape.from_first else 'onward[w]'})")
        with text.block("if trends == room" + ("" if shape.folds else " or used + depth > vertices.size")):
            self.leave()
        if shape.folds:
            with text.block_if("best_how < 0" if shape.judged else None):
                folds.copy(_ahead("best"), cells_at("whole", "real", "trends"))
            if shape.judged:
                with text.block("else"):
                    folds.copy(_stack("depth - 1"), cells_at("whole", "real", "trends"))
        else:
            with text.block("for i in range(depth)"):
                text.put("vertices[used + i] = path[i]")
            text.put("used += depth")
        text.put("found_entry[trends] = entry", "trends += 1", "starts[trends] = used")

    def take_away(self) -> None:
        """Take away what begins before the event that the clause names; where none is named after the first event, no
        more than what begins with that."""
        text = self.text
        text.put(f"named = {NOTHING_TAKEN}")
        once = " and named < 0" if self.shape.rule.kind == TO_FIRST else ""
        with text.block("for i in range(depth)"):
            with text.block(f"if variable[path[i]] == {self.shape.rule.variable}{once}"):
                text.put("named = tick[path[i]]")
        with text.block("if named > tick[best]"):
            text.put("until = max(until, named - 1)")
        with text.block("for v in range(at, stop)"):
            with text.block("if row[v] == row[best]"):
                text.put("gone[v] = entry")

    def write_collect(self) -> Loop:
        """Collect beginnings from where taking stands, about `most`, with the folds of the trend of each that ends
        last; returns how many, and `state` has the key of what comes next."""
        text, from_first, folds = self.text, self.shape.from_first, self.folds
        self.write_ways()
        takes = [*_GRAPH, *_WAYS, *_ENTRIES, "state", "most", "start_key", "start_vertex", "start_window", "start_end"]
        takes += ["start_how", "path"]
        if folds.shape:
            takes += [*folds.takes, *([] if from_first else ["ahead", "ahead_real"]), "whole", "real"]
        with text.block_of("collect", tuple(takes)):
            text.put("entry, at, until, known, found = state[0], state[1], state[2], state[3], 0")
            with self.beginnings():
                with text.block("if found > 0 and found + stop - at > most"):
                    text.put("state[3], state[5] = known, entry * (tick.size + 1) + at", "return found")
                with text.block("for v in range(at, stop if tick[at] > until else at)"):
                    with text.block("if start_from[v] > window"):
                        text.put("continue")
                    self.find_end("v")
                    with text.block("if last < 0"):
                        text.put("continue")
                    text.put("start_key[found], start_vertex[found] = entry * (tick.size + 1) + v, v")
                    text.put("start_window[found], start_end[found], start_how[found] = window, last, how")
                    now = cells_at("whole", "real", "found")
                    if folds.shape and from_first:
                        folds.begin(now)
                        text.put("w = v")
                        with text.block("while w >= 0"):
                            folds.grow(now, "row[w]", "variable[w]")
                            text.put(f"w = np.int64(near_onward[w] if how == {SEARCHED} else onward[w])")
                    elif folds.shape:
                        folds.copy(_ahead("v"), now)
                    text.put("found += 1")
                text.put("at = stop")
            text.put("state[3], state[5] = known, entry * (tick.size + 1)", "return found")
        return load_loop(text, "collect", takes)

    def write_candidates(self) -> Loop:
        """Walk the candidates of some beginnings, from those on that were walked before, as many as are wanted: per
        beginning `came` and whether these were the last. Returns how many came; what has no room any more is left for
        another call."""
        text, folds = self.text, self.folds
        self.write_advance()
        takes = [*_GRAPH, "reach", "path", "cursor", "of_vertex", "of_window", "before", "wanted", "came", "is_over"]
        takes += ["found_start", "found_number", "found_end"]
        takes += [*folds.takes, "stack", "stack_real", "whole", "real"] if folds.shape else []
        with text.block_of("walk_candidates", tuple(takes)):
            text.put("used = 0")
            with text.block("for s in range(of_vertex.size)"):
                text.put("window, number = of_window[s], 0")
                self.begin_path("of_vertex[s]")
                with text.block("while depth > 0 and came[s] < wanted[s]"):
                    with text.block("if number >= before[s]"):
                        with text.block("if used == found_start.size"):
                            text.put("return used")
                        text.put("found_start[used], found_number[used], found_end[used] = s, number, path[depth - 1]")
                        folds.copy(_stack("depth - 1"), cells_at("whole", "real", "used"))
                        text.put("came[s] += 1", "used += 1")
                    text.put("number += 1")
                    self.advance()
                text.put("is_over[s] = depth == 0")
            text.put("return used")
        return load_loop(text, "walk_candidates", takes)


@lru_cache(64)
def write_take(shape: TakeShape) -> Loop:
    """The loop that fills buffers with the trends that are taken, one after the other, from beginnings that no earlier
    one has taken away; it returns how many.

    `state` is where it stands: the entry, the next vertex (-1: the entry is new), the last tick at which no trend may
    begin, what `onward` is known of (-1: nothing), vertices that were taken away, and the key up to which it is decided
    which trend of a beginning is taken. A key is an entry and a vertex as one number.
    """
    return _Writer(shape).write_take()


@lru_cache(64)
def write_judging(shape: TakeShape) -> tuple[Loop, Loop]:
    """The loops that collect beginnings to be judged, and walk their candidates; see `write_collect`. The trend that
    ends last is looked at first, whatever is taken."""
    return _Writer(shape).write_collect(), _Writer(shape).write_candidates()


def new_ways(vertices: int) -> dict[str, np.ndarray]:
    """Make room for how trends go on from so many vertices, by the names of loops."""
    return {name: np.empty(vertices, np.int32) for name in ("onward", "end", "near_onward", "near_end")}
