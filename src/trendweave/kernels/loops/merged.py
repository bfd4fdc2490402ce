"""Tables of merged templates: what the loop over bursts reads in place of a template.

A class has *registers* (what the rows of its states brought: one of their own, and one more per blocker of transitions
that leave them) and *lanes* (states times overlapping windows). A row brings, per lane, what comes in from outside plus
the registers that lead back into the state; it is then added to all registers. States that read the same variable and
are measured alike form a *bundle*: their lanes lie side by side and always go the same way. Bundles that are measured
alike form a *group*.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from trendweave.kernels.loops.bursts import DIFFERS


class MergedTemplate(NamedTuple):
    """The templates of all queries as one automaton, and which of its states may be computed together.

    The queries have no edge predicates and take any later event (skip-till-any-match). Each state belongs to exactly
    one query or to a prefix that several queries share, lives in the windows of one kind, and holds a number per open
    window. A row that a state reads brings

        new[state] = (1 if the state may begin a trend) + sum over transitions into the state of what they remember

    and every transition remembers the sum of what its source's rows brought, since the last row of its blocker.
    A query's number in a window is the sum over its final states of all that their rows brought in the window.

    state_window    int64[S]    the kind of the windows that the state lives in
    state_variable  int64[S]    the bit of `letters` that it reads
    is_start        bool[S]     whether its rows begin trends
    source, target  int64[T]    transitions; both ends live in windows of the same kind
    blocker         int64[T]    -1, or the letter whose rows empty what the transition remembers of its source. A row
                                counts for the transitions into it before it empties, and is remembered after
    final_query     int64[F]    pairs: rows of final_state end trends of final_query
    final_state     int64[F]
    class_of        int64[S]    classes are numbered from 0 without gaps. Transitions inside a class lead from a state
                                to itself, and are the same for all of its states: same blockers. States of a class may
                                read different variables (different local predicates), and differ in kinds of windows,
                                starts and transitions from outside
    queries         int         how many queries
    query_window    int64[queries]  the kind of a query's windows: that of its final states
    """

    state_window: np.ndarray
    state_variable: np.ndarray
    is_start: np.ndarray
    source: np.ndarray
    target: np.ndarray
    blocker: np.ndarray
    final_query: np.ndarray
    final_state: np.ndarray
    class_of: np.ndarray
    queries: int
    query_window: np.ndarray


def table(entries: Iterable[int]) -> np.ndarray:
    """Numbers as an array that loops read; at least one, as there are none of no size."""
    return np.array(list(entries) or [0], np.int64)


def _lay_flat(lists: Sequence[Sequence[Any]], name: str, columns: Sequence[str]) -> dict[str, np.ndarray]:
    """Where each list begins in all of them in a row, and the columns of the row."""
    items = [item for part in lists for item in part]
    found = {name: np.cumsum([0, *map(len, lists)]).astype(np.int64)}
    for place, column in enumerate(columns):
        found[column] = table(item[place] if isinstance(item, tuple) else item for item in items)
    return found


class MergedTables:
    """The tables of a template.

    Args:
        template: The template.
        slots: Per kind of windows, how many overlap at most.
        marks: Per measure, the states whose rows count: [measures, states].
    """

    def __init__(self, template: MergedTemplate, slots: np.ndarray, marks: np.ndarray) -> None:
        self._t, self._slots, self._measured = template, slots, marks
        self.count = int(template.class_of.max()) + 1 if template.class_of.size else 0
        self._states: list[list[int]] = [[] for _ in range(self.count)]
        for state, c in enumerate(template.class_of.tolist()):
            self._states[c].append(state)
        #: Per class: blocker -> register; blocker -1 is the states' own, and comes first.
        self._registers: list[dict[int, int]] = [{-1: 0} for _ in self._states]
        for source, blocker in zip(template.source.tolist(), template.blocker.tolist(), strict=True):
            known = self._registers[template.class_of[source]]
            known.setdefault(blocker, len(known))
        self._lane = np.zeros(template.class_of.size, np.int64)
        self._bundle = np.zeros(template.class_of.size, np.int64)
        self._bundles = self._lay_out_lanes()
        self.bundle_from = np.cumsum([0, *map(len, self._bundles)])
        self.lanes = [part[-1][1] for part in self._bundles]
        self.tables = self._make_tables()

    def _lay_out_lanes(self) -> list[list[tuple[int, int, int]]]:
        """Per class: (first lane, end, group) per bundle."""
        t, all_bundles, number = self._t, [], 0
        for states in self._states:
            bundles: dict[tuple[tuple[bool, ...], int], list[int]] = {}
            for state in states:
                marks = tuple(bool(mark) for mark in self._measured[:, state])
                bundles.setdefault((marks, int(t.state_variable[state])), []).append(state)
            groups = {marks: i for i, marks in enumerate(dict.fromkeys(marks for marks, _ in bundles))}
            lane, laid = 0, []
            for key in sorted(bundles, key=lambda key: groups[key[0]]):
                first = lane
                for state in sorted(bundles[key], key=lambda state: (int(t.state_window[state]), state)):
                    self._lane[state], self._bundle[state] = lane, number
                    lane += int(self._slots[t.state_window[state]])
                laid.append((first, lane, groups[key[0]]))
                number += 1
            all_bundles.append(laid)
        return all_bundles

    def _make_tables(self) -> dict[str, np.ndarray]:
        t, order, lane = self._t, range(self.count), self._lane.tolist()
        returns, outside = self._sort_transitions()
        sources: list[dict[int, dict[int, int]]] = [{} for _ in order]
        targets: list[set[int]] = [set() for _ in order]
        for c, part in enumerate(outside):
            for to, source, *_ in part:
                counts = sources[c].setdefault(source, {})
                counts[to] = counts.get(to, 0) + 1
                targets[source].add(c)
        kinds = t.query_window.tolist()
        self.slot_of = table(kinds[:query].count(kind) for query, kind in enumerate(kinds))
        finals: list[list[tuple[int, ...]]] = [[] for _ in order]
        for query, state in zip(t.final_query.tolist(), t.final_state.tolist(), strict=True):
            finals[t.class_of[state]].append((kinds[query], int(self.slot_of[query]), lane[state]))
        #: Lanes of all vectors: registers, what comes from outside, scratch memory.
        lanes, registers = np.array([0, *self.lanes]), [0, *map(len, self._registers)]
        totals = int((lanes * registers).sum())
        self.scratch_at = totals + int(lanes.sum())
        self.size = self.scratch_at + int(lanes.max())
        windows = t.state_window.tolist()
        return {
            "lanes_of": table(self.lanes), "registers_of": table(registers[1:]),
            "total_at": np.cumsum(lanes * registers)[:-1], "outside_at": totals + np.cumsum(lanes)[:-1],
            "bundle_from": self.bundle_from,
            **_lay_flat(returns, "in_from", ["in_register"]),
            **_lay_flat(self._bundles, "", ["bundle_first", "bundle_end", "bundle_group"]),
            **_lay_flat(
                [[(lane[s], windows[s]) for s in part] for part in self._states],
                "member_from", ["member_lane", "member_kind"],
            ),
            **_lay_flat(
                [[(lane[s], windows[s]) for s in part if t.is_start[s]] for part in self._states],
                "start_from", ["start_lane", "start_kind"],
            ),
            **_lay_flat(outside, "in_outside_from", [
                "outside_lane", "outside_source", "outside_register", "outside_source_lane", "outside_kind",
            ]),
            **_lay_flat(
                [[(source, max(counts.values())) for source, counts in part.items()] for part in sources],
                "source_from", ["source_class", "source_count"],
            ),
            **_lay_flat([sorted(part) for part in targets], "target_from", ["target_class"]),
            **_lay_flat(finals, "final_from", ["final_kind", "final_slot", "final_lane"]),
            "slots": table(self._slots.tolist()),
            "queries_of": np.bincount(t.query_window, minlength=len(self._slots)).astype(np.int64),
        }  # fmt: skip

    def mark_bundles(self, states: np.ndarray) -> np.ndarray:
        """The bundles of marked states: [measures, bundles]. The marks are some of those that bundles are alike in."""
        marks = np.zeros((len(states), self.bundle_from[-1]), np.int64)
        marks[:, self._bundle] = states
        return marks

    def _sort_transitions(self) -> tuple[list[list[int]], list[list[tuple[int, ...]]]]:
        """Per class the registers that lead back into its states, and what comes from outside."""
        t = self._t
        outside: list[list[tuple[int, ...]]] = [[] for _ in self._states]
        returns: list[dict[int, list[int]]] = [{state: [] for state in states} for states in self._states]
        for source, target, blocker in zip(t.source.tolist(), t.target.tolist(), t.blocker.tolist(), strict=True):
            c, d = int(t.class_of[target]), int(t.class_of[source])
            register, kind = self._registers[d][blocker], int(t.state_window[target])
            if t.state_window[source] != kind:
                raise ValueError(f"the transition from state {source} to {target} joins windows of two kinds")
            if source == target:
                returns[c][target].append(register)
            elif c == d:
                raise ValueError(f"the transition from state {source} to {target} joins two states of class {c}")
            else:
                outside[c].append((int(self._lane[target]), d, register, int(self._lane[source]), kind))
        if any(len({tuple(sorted(own)) for own in part.values()}) > 1 for part in returns):
            raise ValueError("the states of a class must have the same transitions to themselves")
        return [next(iter(part.values())) for part in returns], outside

    @property
    def letters(self) -> list[int]:
        """The letters that mean anything."""
        return sorted({*self._t.state_variable.tolist(), *self._t.blocker[self._t.blocker >= 0].tolist()})

    def read_patterns(self, letters: np.ndarray) -> dict[str, Any]:
        """What patterns of letters mean: one entry per pattern and class that reads it, or empties registers at it.

        Args:
            letters: uint64[patterns, words].
        """
        entries: list[np.ndarray] = []
        accept: list[np.ndarray] = []
        accepts = 0
        for c, (states, registers) in enumerate(zip(self._states, self._registers, strict=True)):
            reads = np.zeros((len(letters), len(self._bundles[c])), np.int64)
            for bundle, letter in {
                (self._bundle[s] - self.bundle_from[c], int(self._t.state_variable[s])) for s in states
            }:
                reads[:, bundle] = has_letter(letters, letter)
            emptied = np.zeros(len(letters), np.int64)
            for blocker, register in registers.items():
                if blocker >= 0:
                    emptied |= has_letter(letters, blocker) << register
            found = np.flatnonzero(reads.any(axis=1) | (emptied != 0))
            reads = reads[found]
            differs = (reads != reads[:, :1]).any(axis=1)
            place = accepts + (np.cumsum(differs) - differs) * reads.shape[1]
            columns = found, np.full(found.size, c), np.where(differs, DIFFERS, reads[:, 0]), place, emptied[found]
            entries.append(np.stack(columns))
            accept.append(reads[differs].reshape(-1))
            accepts += accept[-1].size
        every = np.concatenate([np.zeros((5, 0), np.int64), *entries], axis=1)
        every = every[:, np.argsort(every[0], kind="stable")]
        counts = np.bincount(every[0], minlength=len(letters))
        names = ("entry_class", "entry_bits", "entry_accept", "entry_empties")
        return {
            "entry_from": np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            **{name: table(column.tolist()) for name, column in zip(names, every[1:], strict=True)},
            "accept": np.concatenate([*accept, np.zeros(1, np.int64)]),
            "most_entries": int(counts.max(initial=1)),
        }


def has_letter(letters: np.ndarray, letter: int) -> np.ndarray:
    """1 where a bit is set, else 0: int64[rows]."""
    return (letters[:, letter // 64] >> np.uint64(letter % 64) & np.uint64(1)).astype(np.int64)


def number_patterns(letters: np.ndarray, used: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """The number of each row's pattern of letters, and each pattern. Letters that are not used are not looked at."""
    relevant = np.zeros(letters.shape[1], np.uint64)
    for letter in used:
        relevant[letter // 64] |= np.uint64(1) << np.uint64(letter % 64)
    number = np.zeros(len(letters), np.int64)
    count = 1
    for word in np.flatnonzero(relevant).tolist():
        column = letters[:, word] & relevant[word]
        here, count_here = _number_words(column)
        number = number * count_here + here
        count *= count_here
        if count > 2**16:
            number, count = _number_words(number.view(np.uint64))
    number, count = _number_words(number.view(np.uint64))
    first = np.zeros(count, np.int64)
    first[number[::-1]] = np.arange(len(letters) - 1, -1, -1)
    return number, (letters & relevant)[first]


def _number_words(words: np.ndarray) -> tuple[np.ndarray, int]:
    """Numbers of words, by a table where they are small; and how many there are."""
    highest = int(words.max(initial=0))
    if highest < max(2**16, 4 * words.size):
        known = np.zeros(highest + 1, np.int32)
        known[words] = 1
        return (np.cumsum(known) - 1)[words], int(known.sum())
    values, number = np.unique(words, return_inverse=True)
    return number.reshape(-1).astype(np.int64), values.size
