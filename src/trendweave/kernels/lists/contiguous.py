"""The writers of loops over contiguous trends, where no two rows of a segment have one time.

A row has at most one successor, the row after it, so an edge is a bit: `steps[row]` says which transitions lead from
the row before to this one, conditions included, and `begins[row]` in which states a trend can begin. Nothing is
searched and no graph is built. A *range* is a window in a segment, the rows low:high; a trend that begins at a row ends
before its range does, and before row `until[row]` where each trend has a window of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from trendweave.kernels.lists.folds import Fold, FoldText, Loop, cells_at
from trendweave.kernels.loops.text import Text

#: Larger than every row: no end can be reached.
NO_END = np.iinfo(np.int32).max
#: Which beginnings a trend that is taken takes away: its own, all up to its last event, those before its first or last
#: event of a variable.
TO_NEXT, PAST_LAST, TO_FIRST, TO_LAST = range(4)


@dataclass(frozen=True, slots=True)
class Rule:
    """`kind` says which beginnings a taken trend takes away, before which events of `variable`; `by_window`: only those
    in its own window. Of the trends of a beginning the one that ends last is taken, or first: `shortest`."""

    kind: int
    variable: int
    shortest: bool
    by_window: bool


#: Where a search begins: in the first range, which is new, with no row on its path that was not looked at.
BEGINNING = (0, -1, 0, 0, 0)


@dataclass(frozen=True)
class Automaton:
    """A template: the variable of each state, the states in which trends begin and end, ascending by variable, and its
    transitions (source, target), ascending by source and then by the variable of the target."""

    variable: tuple[int, ...]
    starting: tuple[int, ...]
    final: tuple[int, ...]
    transitions: tuple[tuple[int, int], ...]

    @property
    def states(self) -> range:
        """The states."""
        return range(len(self.variable))

    def write_tables(self) -> str:
        """The tables that loops look states and transitions up in."""
        targets, sources = [t for _, t in self.transitions], [s for s, _ in self.transitions]
        leaving = [sum(1 << t for t, s in enumerate(sources) if s == state) for state in self.states]
        first = [sources.index(state) if state in sources else 0 for state in self.states]
        final = [state in self.final for state in self.states]
        names = {"VARIABLE": self.variable, "TARGET": targets or [0], "LEAVING": leaving, "FIRST": first}
        return "".join(f"{name} = {tuple(values)!r}\n" for name, values in (names | {"IS_FINAL": final}).items())


def _put_totals(text: Text, name: str, values: list[str]) -> None:
    text.put("; ".join(f"{name}{state} = {value}" for state, value in enumerate(values)))


@contextmanager
def _rows_back(text: Text, automaton: Automaton, beyond: str, fresh: list[str]) -> Iterator[None]:
    """Lines for each row of a range, from late to early: `w` is a number of each state, `b` that of the row behind it,
    of which there is none `beyond` the range; `bits` are the steps between them."""
    _put_totals(text, "w", [beyond for _ in automaton.states])
    with text.block("for row in range(stop - 1, base - 1, -1)"):
        text.put("bits = steps[row + 1] if row + 1 < stop else 0")
        _put_totals(text, "b", [f"w{state}" for state in automaton.states])
        _put_totals(text, "w", fresh)
        yield


@lru_cache(64)
def write_count(automaton: Automaton, prunes: bool) -> Loop:
    """The loop that counts the trends of each range: floats, exact below 2^53. `w` is how many ways to an end there
    are. `prunes`, where no row is in two ranges: steps and beginnings that lead to no end are taken out."""
    text = Text()
    final = ["1.0" if state in automaton.final else "0.0" for state in automaton.states]
    with text.block("for r in range(len(low))"):
        text.put("heed_stop()", "base, stop, total = low[r], high[r], 0.0")
        with _rows_back(text, automaton, "0.0", final):
            with text.block("if bits"):
                for t, (source, target) in enumerate(automaton.transitions):
                    with text.block(f"if bits & {1 << t}"):
                        text.put(f"w{source} += b{target}", *[f"bits ^= {1 << t} * (b{target} == 0.0)"] * prunes)
                text.put(*["steps[row + 1] = bits"] * prunes)
            text.put("bits = begins[row]")
            with text.block("if bits"):
                for state in automaton.starting:
                    with text.block(f"if bits & {1 << state}"):
                        text.put(f"total += w{state}", *[f"bits ^= {1 << state} * (w{state} == 0.0)"] * prunes)
                text.put(*["begins[row] = bits"] * prunes)
        text.put("counts[r] = total")
    text.put("return 0")
    return Loop.of("count_contiguous", text)


def _find_ends(text: Text, automaton: Automaton, first: bool, place: str) -> None:
    """Lines that find, per row of a range and state, the first (or the last) row at which a trend can end that has got
    there; where none can, NO_END, or -1."""
    none, better = (str(NO_END), "<") if first else ("-1", ">")
    with _rows_back(text, automaton, none, ["row" if state in automaton.final else none for state in automaton.states]):
        text.put("heed_stop()")
        with text.block("if bits"):
            for t, (source, target) in enumerate(automaton.transitions):
                with text.block(f"if bits & {1 << t} and b{target} {better} w{source}"):
                    text.put(f"w{source} = b{target}")
        text.put(*(f"ahead[{place}, {state}] = w{state}" for state in automaton.states))


@lru_cache(64)
def write_ends(automaton: Automaton) -> Loop:
    """The loop that finds, per row and state, the first row at which a trend can end that has got there, or NO_END."""
    text = Text()
    text.put("base, stop = 0, len(steps)")
    _find_ends(text, automaton, first=True, place="row")
    text.put("return 0")
    return Loop.of("find_ends", text)


@lru_cache(64)
def write_walk(automaton: Automaton, looks_ahead: bool, has_until: bool, folds: tuple[Fold, ...] | None) -> Loop:
    """The loop that fills buffers with all trends, by their first rows; it returns how many, 0 when there are no more,
    and `place` is where it stands: the range, the first row (-1: the range is new), the beginnings of it that are left,
    the rows on the path, and whether the last one was just reached.

    Of each trend the range and its last row are written and, with folds, what is folded while the trend grows;
    otherwise its variables. Its rows are as many as lead up to the last. Unless it looks `ahead`, all steps lead to an
    end of their range.
    """
    text = Text()
    folding = FoldText(text, folds or ())
    save = "place[0], place[1], place[2], place[3], place[4] = r, first, begun, depth, {}"
    stop = "stop = min(high[r], until[first])" if has_until else "stop = high[r]"
    text.put("r, first, begun, depth, arrived = place[0], place[1], place[2], place[3], place[4]", "stop = 0")
    with text.block("if first >= 0"):
        text.put(stop)
    text.put("trends, used = 0, 0", *["starts[0] = 0"] * (folds is None))
    with text.block("while r < len(low)"):
        with text.block("if first < 0"):
            text.put("first, depth, begun = low[r], 0, int64(begins[low[r]])", stop)
        with text.block("while first < high[r]"):
            text.put("heed_stop()")
            with text.block("if depth == 0"):
                with text.block("if begun == 0"):
                    text.put("first += 1")
                    with text.block("while first < high[r] and begins[first] == 0"):
                        text.put("first += 1")
                    with text.block("if first < high[r]"):
                        text.put("begun = int64(begins[first])", stop)
                    text.put("continue")
                text.put("now = 0")
                with text.block("while not (begun >> now) & 1"):
                    text.put("now += 1")
                text.put("begun &= begun - 1")
                if looks_ahead:
                    with text.block("if ahead[first, now] >= stop"):
                        text.put("continue")
                text.put("depth, arrived = 1, 1", "state[0] = now")
                folding.begin(cells_at("stack", "stack_real", "0"))
                folding.grow(cells_at("stack", "stack_real", "0"), "first", "VARIABLE[now]")
            text.put("now = state[depth - 1]")
            with text.block("if arrived"):
                with text.block("if IS_FINAL[now] and first + depth > ends_from[r]"):
                    full = " or used + depth > len(variables)" if folds is None else ""
                    with text.block(f"if trends == len(found_range){full}"):
                        text.put(save.format(1), "return trends")
                    text.put("found_range[trends], found_last[trends] = r, first + depth - 1")
                    if folds is None:
                        with text.block("for i in range(depth)"):
                            text.put("variables[used + i] = VARIABLE[state[i]]")
                        text.put("used += depth", "starts[trends + 1] = used")
                    folding.copy(cells_at("stack", "stack_real", "depth - 1"), cells_at("whole", "real", "trends"))
                    text.put("trends += 1")
                text.put("arrived = 0", "left[depth - 1] = 0")
                with text.block("if first + depth < stop"):
                    text.put("left[depth - 1] = steps[first + depth] & LEAVING[now]")
            text.put("bits = left[depth - 1]")
            with text.block("if bits == 0"):
                text.put("depth -= 1", "continue")
            text.put("left[depth - 1] = bits & (bits - 1)", "t = FIRST[now]")
            with text.block("while not (bits >> t) & 1"):
                text.put("t += 1")
            with text.block_if("ahead[first + depth, TARGET[t]] < stop" if looks_ahead else None):
                text.put("state[depth] = TARGET[t]")
                folding.copy(cells_at("stack", "stack_real", "depth - 1"), cells_at("stack", "stack_real", "depth"))
                folding.grow(cells_at("stack", "stack_real", "depth"), "first + depth", "VARIABLE[TARGET[t]]")
                text.put("depth += 1", "arrived = 1")
        text.put("r += 1", "first = -1")
    text.put(save.format(0), "return trends")
    return Loop.of("walk_contiguous", text, automaton.write_tables())


@lru_cache(64)
def write_take(automaton: Automaton, rule: Rule) -> Loop:
    """The loop that fills buffers with the trends that AFTER MATCH or PER START take: of each beginning that is left
    the one that ends last (or first), and of those the one whose variables have the least numbers, from the first on.

    When a range is new it is gone over from late to early, for the last (or first) end `ahead` of each row and state.
    Returns as the walk does; `place` is the range and the first row.
    """
    text = Text()
    better, none = ("<", NO_END) if rule.shortest else (">", -1)
    text.put("r, first = place[0], place[1]", "trends, used = 0, 0", "starts[0] = 0")
    with text.block("while r < len(low)"):
        text.put("base, stop = low[r], high[r]")
        with text.block("if first < 0"):
            text.put("first = base")
            _find_ends(text, automaton, rule.shortest, "row - base")
        with text.block("while first < stop"):
            text.put("heed_stop()", f"bits, now, far = begins[first], -1, {none}")
            for state in automaton.starting:
                text.put(f"last = int64(ahead[first - base, {state}])")
                with text.block(f"if bits & {1 << state} and last {better} far"):
                    text.put(f"now, far = {state}, last")
            with text.block("if now < 0"):
                text.put("first += 1", "continue")
            text.put("depth = far - first + 1")
            with text.block("if trends == len(found_range) or used + depth > len(variables)"):
                text.put("place[0], place[1] = r, first", "return trends")
            text.put("found_range[trends], found_last[trends] = r, far", "named = -1")
            with text.block("for i in range(depth)"):
                text.put("variables[used + i] = VARIABLE[now]")
                if rule.kind in (TO_FIRST, TO_LAST):
                    once = " and named < 0" if rule.kind == TO_FIRST else ""
                    with text.block(f"if VARIABLE[now] == {rule.variable}{once}"):
                        text.put("named = first + i")
                with text.block("if first + i < far"):
                    text.put("row, t = first + i + 1, FIRST[now]")
                    with text.block("while not (steps[row] >> t) & 1 or ahead[row - base, TARGET[t]] != far"):
                        text.put("t += 1")
                    text.put("now = TARGET[t]")
            text.put("trends += 1", "used += depth", "starts[trends] = used")
            text.put("first += depth" if rule.kind == PAST_LAST else "first = max(first + 1, named)")
        text.put("r += 1", "first = -1")
    text.put("place[0], place[1] = r, first", "return trends")
    return Loop.of("take_contiguous", text, automaton.write_tables())
