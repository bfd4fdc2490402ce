"""Tables of merged templates: what the loop over bursts reads in place of a template.

A class has *positions* (states of a member), *registers* (what a position's rows brought: one register per position,
and one more per blocker of transitions that leave the position) and *lanes* (members times overlapping windows). A row
read at a position brings, per lane, what comes in from outside plus the registers that lead into the position; it is
then added to the position's registers. Members that read the same variables and are measured alike form a *bundle*:
their lanes lie side by side and always go the same way. Bundles that are measured alike form a *group*.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from trendweave.kernels.loops.bursts import DIFFERS

MOST_POSITIONS = 16


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
    class_of        int64[S]    classes are numbered from 0 without gaps. A class has so many positions and so many
    position        int64[S]    members, both numbered from 0, and one state for each pair of them. Transitions inside
    member          int64[S]    a class join states of one member, and are the same for all members: same positions,
                                same blockers. Members may read different variables at a position (different local
                                predicates), and differ in kinds of windows, starts and transitions from outside. A
                                state that nobody shares is a class of its own (position 0, member 0). At most 16
                                positions
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
    position: np.ndarray
    member: np.ndarray
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
        self._states: list[dict[tuple[int, int], int]] = [{} for _ in range(self.count)]
        places = zip(template.class_of.tolist(), template.position.tolist(), template.member.tolist(), strict=True)
        for state, (c, position, member) in enumerate(places):
            self._states[c][position, member] = state
        self.positions = [1 + max((p for p, _ in states), default=0) for states in self._states]
        self._members = [1 + max((i for _, i in states), default=0) for states in self._states]
        for c, states in enumerate(self._states):
            if self.positions[c] > MOST_POSITIONS or len(states) != self.positions[c] * self._members[c]:
                raise ValueError(f"class {c}: one state per position and member, at most {MOST_POSITIONS} positions")
        self._lane = np.zeros(template.class_of.size, np.int64)
        self._bundle = np.zeros(template.class_of.size, np.int64)
        self._registers = self._number_registers()
        self.registers = [len(known) for known in self._registers]
        self._bundles, members = self._lay_out_lanes()
        self.bundle_from = np.cumsum([0, *map(len, self._bundles)])
        self.lanes = [part[-1][1] for part in self._bundles]
        self._read_by, self._emptied_by = self._find_readers()
        self.tables = self._make_tables(members)

    def _make_tables(self, members: list[list[tuple[int, int]]]) -> dict[str, np.ndarray]:
        t, order = self._t, range(self.count)
        into, outside = self._sort_transitions()
        starts: list[list[tuple[int, ...]]] = [[] for _ in order]
        for state in np.flatnonzero(t.is_start).tolist():
            starts[t.class_of[state]].append((t.position[state], self._lane[state], t.state_window[state]))
        sources: list[dict[int, dict[tuple[int, int], int]]] = [{} for _ in order]
        targets: list[set[int]] = [set() for _ in order]
        for c, part in enumerate(outside):
            for position, lane, source, *_ in part:
                counts = sources[c].setdefault(source, {})
                counts[position, lane] = counts.get((position, lane), 0) + 1
                targets[source].add(c)
        kinds = t.query_window.tolist()
        slot_of = [kinds[:query].count(kind) for query, kind in enumerate(kinds)]
        finals: list[list[tuple[int, ...]]] = [[] for _ in order]
        for query, state in zip(t.final_query.tolist(), t.final_state.tolist(), strict=True):
            place = kinds[query], slot_of[query], t.position[state], self._lane[state]
            finals[t.class_of[state]].append(place)
        self.slot_of = np.array(slot_of, np.int64)
        lanes, most = np.array([0, *self.lanes]), max(self.positions, default=1)
        every = [(c, p) for c in order for p in range(self.positions[c])]
        reached = [[r for (at, _), r in self._registers[c].items() if at == p] for c, p in every]
        sizes = [lanes * [0, *counts] for counts in (self.registers, self.positions)]
        bits = np.zeros((len(self._measured), self.bundle_from[-1]), np.int64)
        for k, state in zip(*np.nonzero(self._measured), strict=True):
            bits[k, self._bundle[state]] |= 1 << int(t.position[state])
        self.marks = bits  # [measures, bundles]: bit p: rows at position p are measured
        #: Lanes of all vectors: registers, what comes from outside, what waits for the end of a time, scratch memory.
        totals, incoming = int(sizes[0].sum()), int(sizes[1].sum())
        self.pending_at, self.scratch_at = totals + incoming, totals + incoming + most * int(lanes.max())
        self.size = self.scratch_at + int(max(sizes[0].max(), lanes.max()))
        return {
            "lanes_of": table(self.lanes), "positions_of": table(self.positions), "registers_of": table(self.registers),
            "most_in_of": table(max(len(into[c, p]) for p in range(self.positions[c])) for c in order),
            "total_at": np.cumsum(sizes[0])[:-1], "outside_at": totals + np.cumsum(sizes[1])[:-1],
            "position_from": np.cumsum([0, *self.positions]), "bundle_from": self.bundle_from,
            **_lay_flat([into[place] for place in every], "in_from", ["in_register"]),
            **_lay_flat(reached, "out_from", ["out_register"]),
            **_lay_flat(self._bundles, "", ["bundle_first", "bundle_end", "bundle_group"]),
            **_lay_flat(members, "member_from", ["member_lane", "member_kind"]),
            **_lay_flat(starts, "start_from", ["start_position", "start_lane", "start_kind"]),
            **_lay_flat(outside, "in_outside_from", [
                "outside_position", "outside_lane", "outside_source", "outside_register", "outside_source_lane",
                "outside_kind",
            ]),
            **_lay_flat(
                [[(source, max(counts.values())) for source, counts in part.items()] for part in sources],
                "source_from", ["source_class", "source_count"],
            ),
            **_lay_flat([sorted(part) for part in targets], "target_from", ["target_class"]),
            **_lay_flat(finals, "final_from", ["final_kind", "final_slot", "final_position", "final_lane"]),
            "slots": table(self._slots.tolist()),
            "queries_of": np.bincount(t.query_window, minlength=len(self._slots)).astype(np.int64),
        }  # fmt: skip

    def _number_registers(self) -> list[dict[tuple[int, int], int]]:
        """Per class: (position, blocker) -> register; blocker -1 is the position's own, and comes first."""
        registers = [{(p, -1): p for p in range(count)} for count in self.positions]
        for source, blocker in zip(self._t.source.tolist(), self._t.blocker.tolist(), strict=True):
            known = registers[self._t.class_of[source]]
            known.setdefault((int(self._t.position[source]), blocker), len(known))
        return registers

    def _lay_out_lanes(self) -> tuple[list[list[tuple[int, int, int]]], list[list[tuple[int, int]]]]:
        """Per class: (first lane, end, group) per bundle, and (lane, window) per member."""
        t, all_bundles, all_members, number = self._t, [], [], 0
        for states, positions, count in zip(self._states, self.positions, self._members, strict=True):
            bundles: dict[tuple[tuple[bool, ...], tuple[int, ...]], list[int]] = {}
            for member in range(count):
                own = [states[p, member] for p in range(positions)]
                if len({int(t.state_window[s]) for s in own}) > 1:
                    raise ValueError("the states of a member of a class live in windows of one kind")
                marks = tuple(bool(mark) for mark in self._measured[:, own].ravel())
                bundles.setdefault((marks, tuple(int(t.state_variable[s]) for s in own)), []).append(member)
            groups = {marks: i for i, marks in enumerate(dict.fromkeys(marks for marks, _ in bundles))}
            lane, laid, members = 0, [], [(0, 0)] * count
            for key in sorted(bundles, key=lambda key: groups[key[0]]):
                first = lane
                for member in sorted(bundles[key], key=lambda i: (int(t.state_window[states[0, i]]), i)):
                    kind = int(t.state_window[states[0, member]])
                    for p in range(positions):
                        self._lane[states[p, member]] = lane
                        self._bundle[states[p, member]] = number
                    members[member] = (lane, kind)
                    lane += int(self._slots[kind])
                laid.append((first, lane, groups[key[0]]))
                number += 1
            all_bundles.append(laid)
            all_members.append(members)
        return all_bundles, all_members

    def _sort_transitions(self) -> tuple[dict[tuple[int, int], list[int]], list[list[tuple[int, ...]]]]:
        """Registers that lead into (class, position), and per class what comes from outside."""
        t = self._t
        outside: list[list[tuple[int, ...]]] = [[] for _ in range(self.count)]
        into: dict[tuple[int, int], list[int]] = {
            (c, p): [] for c in range(self.count) for p in range(self.positions[c])
        }
        inside = 0
        for source, target, blocker in zip(t.source.tolist(), t.target.tolist(), t.blocker.tolist(), strict=True):
            c, d = int(t.class_of[target]), int(t.class_of[source])
            register = self._registers[d][int(t.position[source]), blocker]
            if t.state_window[source] != t.state_window[target]:
                raise ValueError(f"the transition from state {source} to {target} joins windows of two kinds")
            inside += c == d
            if c != d:
                place = t.position[target], self._lane[target], d, register, self._lane[source], t.state_window[target]
                outside[c].append(place)
            elif t.member[source] != t.member[target]:
                raise ValueError(f"the transition from state {source} to {target} joins two members of class {c}")
            elif t.member[source] == 0:
                into[c, int(t.position[target])].append(register)
        if inside != sum(len(part) * self._members[c] for (c, _), part in into.items()):
            raise ValueError("the members of a class must have the same transitions inside it")
        return into, outside

    def _find_readers(self) -> tuple[list[dict[int, list[tuple[int, int]]]], list[dict[int, int]]]:
        """Per class and letter: the bundles that read it, each with the position; and the registers that it empties."""
        t = self._t
        reads: list[dict[int, list[tuple[int, int]]]] = [{} for _ in range(self.count)]
        for state, variable in enumerate(t.state_variable.tolist()):
            c = int(t.class_of[state])
            place = int(self._bundle[state] - self.bundle_from[c]), int(t.position[state])
            places = reads[c].setdefault(variable, [])
            if place not in places:
                places.append(place)
        empties: list[dict[int, int]] = [{} for _ in range(self.count)]
        for c, known in enumerate(self._registers):
            for (_, blocker), register in known.items():
                if blocker >= 0:
                    empties[c][blocker] = empties[c].get(blocker, 0) | 1 << register
        return reads, empties

    @property
    def letters(self) -> list[int]:
        """The letters that mean anything."""
        parts = [set(part) for part in self._read_by] + [set(part) for part in self._emptied_by]
        return sorted(set().union(*parts))

    def read_patterns(self, letters: np.ndarray) -> dict[str, Any]:
        """What patterns of letters mean: one entry per pattern and class that reads it, or empties registers at it.

        Args:
            letters: uint64[patterns, words].
        """
        entries: list[np.ndarray] = []
        accept: list[np.ndarray] = []
        accepts = 0
        for c, (reads, empties) in enumerate(zip(self._read_by, self._emptied_by, strict=True)):
            bits = np.zeros((len(letters), len(self._bundles[c])), np.int64)
            emptied = np.zeros(len(letters), np.int64)
            for letter in {*reads, *empties}:
                there = has_letter(letters, letter)
                for bundle, position in reads.get(letter, ()):
                    bits[:, bundle] |= there << position
                emptied |= there * empties.get(letter, 0)
            found = np.flatnonzero(bits.any(axis=1) | (emptied != 0))
            bits = bits[found]
            differs = (bits != bits[:, :1]).any(axis=1)
            place = accepts + (np.cumsum(differs) - differs) * bits.shape[1]
            columns = found, np.full(found.size, c), np.where(differs, DIFFERS, bits[:, 0]), place, emptied[found]
            entries.append(np.stack(columns))
            accept.append(bits[differs].reshape(-1))
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
