"""A merged template as the flat arrays that the kernel walks over.

A class has *positions* (states of a member), *registers* (what a position's rows brought: one register per position,
and one more per blocker of transitions that leave the position) and *lanes* (members times overlapping windows). A row
read at a position brings, per lane, what comes in from outside plus the registers that lead into the position; it is
then added to the position's registers. Members that read the same variables and are measured alike form a *bundle*:
their lanes lie side by side and always go the same way.
"""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.shared.inputs import MergedTemplate

MOST_POSITIONS = 16


class Classes(NamedTuple):
    """int64[classes] each.

    `register_base` and `position_base` count lanes of registers and positions of the classes before. The others are
    where the class's part of a longer list begins, with one more entry for its end.
    """

    positions: np.ndarray
    registers: np.ndarray
    lanes: np.ndarray
    most_in: np.ndarray  # registers that lead into one position
    window: np.ndarray  # the kind of window, -1 if members differ
    register_base: np.ndarray
    position_base: np.ndarray
    position_from: np.ndarray
    bundle_from: np.ndarray
    member_from: np.ndarray
    outside_from: np.ndarray
    start_from: np.ndarray
    source_from: np.ndarray
    neighbour_from: np.ndarray
    query_from: np.ndarray


class Lists(NamedTuple):
    """What the classes' lists hold, and the lists of queries and letters."""

    in_from: np.ndarray  # per position: registers that lead into it
    in_register: np.ndarray
    out_from: np.ndarray  # per position: registers that its rows are added to, its own first
    out_register: np.ndarray
    bundle_first: np.ndarray  # per bundle: its lanes, and a number for how it is measured
    bundle_end: np.ndarray
    bundle_alike: np.ndarray
    member_lane: np.ndarray  # per member: its first lane and its kind of window
    member_window: np.ndarray
    outside_position: np.ndarray  # per transition from another class
    outside_lane: np.ndarray
    outside_source: np.ndarray
    outside_register: np.ndarray
    outside_source_lane: np.ndarray
    outside_window: np.ndarray
    start_position: np.ndarray
    start_lane: np.ndarray
    start_window: np.ndarray
    source_class: np.ndarray  # per class that something comes from: at most so many transitions into one lane
    source_count: np.ndarray
    neighbour: np.ndarray
    query: np.ndarray  # per class: queries that end in it
    query_window: np.ndarray
    final_from: np.ndarray  # per query
    final_class: np.ndarray
    final_position: np.ndarray
    final_lane: np.ndarray
    slots: np.ndarray  # per kind of window: how many overlap
    marks_linear: np.ndarray  # [measures, bundles]: bit p: rows at position p are measured
    marks_extrema: np.ndarray


class Readers(NamedTuple):
    """Who reads a letter: (class, bundle, position), and which registers its rows empty."""

    read_from: np.ndarray
    read_class: np.ndarray
    read_bundle: np.ndarray
    read_position: np.ndarray
    empty_from: np.ndarray
    empty_class: np.ndarray
    empty_register: np.ndarray


class SharedPlan(NamedTuple):
    classes: Classes
    lists: Lists
    readers: Readers


def flat(lists: list[list]) -> tuple[np.ndarray, list]:
    """Where each list begins in all of them in a row, and the row."""
    ends = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    return ends, [item for part in lists for item in part]


def columns(items: list, count: int) -> list[np.ndarray]:
    """Tuples of `count` integers as arrays."""
    if count == 1:
        return [np.array(items, np.int64)]
    return list(np.array(items, np.int64).reshape(-1, count).T.copy())


class _Builder:
    def __init__(self, template: MergedTemplate, slots: np.ndarray, linear: np.ndarray, extrema: np.ndarray):
        self.t = template
        self.slots = slots
        self.marks = linear, extrema
        self.count = int(template.class_of.max()) + 1 if template.class_of.size else 0
        self.states: list[dict[tuple[int, int], int]] = [{} for _ in range(self.count)]
        for state in range(template.class_of.size):
            place = int(template.position[state]), int(template.member[state])
            self.states[int(template.class_of[state])][place] = state
        self.positions = [1 + max((p for p, _ in states), default=0) for states in self.states]
        self.members = [1 + max((i for _, i in states), default=0) for states in self.states]
        for c, states in enumerate(self.states):
            if self.positions[c] > MOST_POSITIONS or len(states) != self.positions[c] * self.members[c]:
                raise ValueError(f"class {c}: one state per position and member, at most {MOST_POSITIONS} positions")
        self.lane = np.zeros(template.class_of.size, np.int64)
        self.bundle = np.zeros(template.class_of.size, np.int64)

    def build(self) -> SharedPlan:
        t, order = self.t, range(self.count)
        registers = self.number_registers()
        bundles, members = self.lay_out_lanes()
        lanes = [part[-1][1] for part in bundles]
        into, outside = self.sort_transitions(registers)
        in_from, in_register = flat([into[c, p] for c in order for p in range(self.positions[c])])
        out_from, out_register = flat(
            [[r for (at, _), r in registers[c].items() if at == p] for c in order for p in range(self.positions[c])]
        )
        starts = [[] for _ in order]
        for state in np.flatnonzero(t.is_start):
            starts[t.class_of[state]].append((t.position[state], self.lane[state], t.state_window[state]))
        sources, neighbours = self.relate(outside)
        finals = [[] for _ in range(t.queries)]
        ends = [set() for _ in order]
        for query, state in zip(t.final_query.tolist(), t.final_state.tolist(), strict=True):
            finals[query].append((t.class_of[state], t.position[state], self.lane[state]))
            ends[t.class_of[state]].add(query)
        bundle_from, bundle_list = flat(bundles)
        member_from, member_list = flat(members)
        outside_from, outside_list = flat(outside)
        start_from, start_list = flat(starts)
        source_from, source_list = flat(sources)
        neighbour_from, neighbour_list = flat(neighbours)
        query_from, query_list = flat([sorted(part) for part in ends])
        final_from, final_list = flat(finals)
        sizes = [np.array(x, np.int64) for x in (self.positions, [len(r) for r in registers], lanes)]
        most_in = [max(len(into[c, p]) for p in range(self.positions[c])) for c in order]
        windows = [{kind for _, kind in part} for part in members]
        classes = Classes(
            *sizes,
            np.array(most_in, np.int64),
            np.array([kinds.copy().pop() if len(kinds) == 1 else -1 for kinds in windows], np.int64),
            np.cumsum([0, *(sizes[1] * sizes[2])]).astype(np.int64),
            np.cumsum([0, *(sizes[0] * sizes[2])]).astype(np.int64),
            np.cumsum([0, *sizes[0]]).astype(np.int64),
            bundle_from, member_from, outside_from, start_from, source_from, neighbour_from, query_from,
        )  # fmt: skip
        lists = Lists(
            in_from, *columns(in_register, 1), out_from, *columns(out_register, 1), *columns(bundle_list, 3),
            *columns(member_list, 2), *columns(outside_list, 6), *columns(start_list, 3), *columns(source_list, 2),
            *columns(neighbour_list, 1), *columns(query_list, 1), np.asarray(t.query_window, np.int64),
            final_from, *columns(final_list, 3), np.asarray(self.slots, np.int64),
            *(self.bits_of_marks(marks, len(bundle_list)) for marks in self.marks),
        )  # fmt: skip
        return SharedPlan(classes, lists, self.build_readers(registers))

    def number_registers(self) -> list[dict[tuple[int, int], int]]:
        """Per class: (position, blocker) -> register; blocker -1 is the position's own, and comes first."""
        registers = [{(p, -1): p for p in range(count)} for count in self.positions]
        for source, blocker in zip(self.t.source.tolist(), self.t.blocker.tolist(), strict=True):
            known = registers[self.t.class_of[source]]
            known.setdefault((int(self.t.position[source]), blocker), len(known))
        return registers

    def lay_out_lanes(self) -> tuple[list[list], list[list]]:
        """Per class: (first lane, end, alike) per bundle, and (lane, window) per member."""
        t, all_bundles, all_members, number = self.t, [], [], 0
        for states, positions, count in zip(self.states, self.positions, self.members, strict=True):
            bundles: dict[tuple, list[int]] = {}
            for member in range(count):
                own = [states[p, member] for p in range(positions)]
                if len({int(t.state_window[s]) for s in own}) > 1:
                    raise ValueError("the states of a member of a class live in windows of one kind")
                marks = tuple(bool(mark) for part in self.marks for mark in part[:, own].ravel())
                bundles.setdefault((marks, tuple(int(t.state_variable[s]) for s in own)), []).append(member)
            alike = {marks: i for i, marks in enumerate(dict.fromkeys(marks for marks, _ in bundles))}
            lane, laid, members = 0, [], [(0, 0)] * count
            for key in sorted(bundles, key=lambda key: alike[key[0]]):
                first = lane
                for member in sorted(bundles[key], key=lambda i: (int(t.state_window[states[0, i]]), i)):
                    kind = int(t.state_window[states[0, member]])
                    for p in range(positions):
                        self.lane[states[p, member]] = lane
                        self.bundle[states[p, member]] = number
                    members[member] = (lane, kind)
                    lane += int(self.slots[kind])
                laid.append((first, lane, alike[key[0]]))
                number += 1
            all_bundles.append(laid)
            all_members.append(members)
        return all_bundles, all_members

    def sort_transitions(self, registers) -> tuple[dict[tuple[int, int], list[int]], list[list[tuple]]]:
        """Registers that lead into (class, position), and per class what comes from outside."""
        t, outside = self.t, [[] for _ in range(self.count)]
        into = {(c, p): [] for c in range(self.count) for p in range(self.positions[c])}
        for source, target, blocker in zip(t.source.tolist(), t.target.tolist(), t.blocker.tolist(), strict=True):
            c, d = int(t.class_of[target]), int(t.class_of[source])
            register = registers[d][int(t.position[source]), blocker]
            if t.state_window[source] != t.state_window[target]:
                raise ValueError(f"the transition from state {source} to {target} joins windows of two kinds")
            if c != d:
                place = t.position[target], self.lane[target], d, register, self.lane[source], t.state_window[target]
                outside[c].append(place)
            elif t.member[source] != t.member[target]:
                raise ValueError(f"the transition from state {source} to {target} joins two members of class {c}")
            elif t.member[source] == 0:
                into[c, int(t.position[target])].append(register)
        inside = np.flatnonzero((t.class_of[t.source] == t.class_of[t.target]) if t.source.size else [])
        expected = sum(len(part) * self.members[c] for (c, _), part in into.items())
        if len(inside) != expected:
            raise ValueError("the members of a class must have the same transitions inside it")
        return into, outside

    def relate(self, outside: list[list[tuple]]) -> tuple[list[list], list[list]]:
        """Per class: (source class, most transitions from it into one lane), and the classes on either side of it."""
        sources, neighbours = [], [set() for _ in outside]
        for c, part in enumerate(outside):
            counted: dict[int, dict] = {}
            for position, lane, source, *_ in part:
                counts = counted.setdefault(source, {})
                counts[position, lane] = counts.get((position, lane), 0) + 1
                neighbours[c].add(source)
                neighbours[source].add(c)
            sources.append([(source, max(counts.values())) for source, counts in counted.items()])
        return sources, [sorted(part) for part in neighbours]

    def bits_of_marks(self, marks: np.ndarray, bundles: int) -> np.ndarray:
        bits = np.zeros((marks.shape[0], bundles), np.int64)
        for k, state in zip(*np.nonzero(marks), strict=True):
            bits[k, self.bundle[state]] |= 1 << int(self.t.position[state])
        return bits

    def build_readers(self, registers) -> Readers:
        t = self.t
        letters = 1 + max([*t.state_variable.tolist(), *t.blocker.tolist()], default=0)
        reads, empties = [set() for _ in range(letters)], [set() for _ in range(letters)]
        for state, variable in enumerate(t.state_variable.tolist()):
            reads[variable].add((int(t.class_of[state]), int(self.bundle[state]), int(t.position[state])))
        for c, known in enumerate(registers):
            for (_, blocker), register in known.items():
                if blocker >= 0:
                    empties[blocker].add((c, register))
        read_from, read_list = flat([sorted(part) for part in reads])
        empty_from, empty_list = flat([sorted(part) for part in empties])
        return Readers(read_from, *columns(read_list, 3), empty_from, *columns(empty_list, 2))


def build_plan(template: MergedTemplate, slots: np.ndarray, linear: np.ndarray, extrema: np.ndarray) -> SharedPlan:
    """The plan; `slots` int64[kinds] is how many windows of a kind overlap at most, `linear` and `extrema`
    bool[measures, states] are the states that are measured."""
    return _Builder(template, slots, linear, extrema).build()
