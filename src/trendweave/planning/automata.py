"""Patterns as automata: determinised, trimmed, intersected and made small, before they become templates.

A pattern becomes a position automaton (Glushkov's construction), that becomes one path per trend, readings that need
not be followed are left out, and states that nothing tells apart become one. Steps are open, or closed by NOTs: sets
of negations as alternatives carry them through the construction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

from trendweave.language import syntax_tree as st
from trendweave.planning.plan import Guard

#: Each inner set is one way; all its negations must be clean. No set contains another one.
Ways: TypeAlias = frozenset[frozenset[int]]

NO_WAY: Ways = frozenset()
FREE_WAY: Ways = frozenset({frozenset()})


def unless(negation: int) -> Ways:
    return frozenset({frozenset({negation})})


def either(one: Ways, other: Ways) -> Ways:
    """One way or the other; ways that ask for more than another one are dropped."""
    if one == other or not other:
        return one
    if not one:
        return other
    return _without_needless(one | other)


def both(one: Ways, other: Ways) -> Ways:
    """One after the other, inside the same gap."""
    if one == FREE_WAY or other == NO_WAY:
        return other
    if other == FREE_WAY or one == NO_WAY:
        return one
    return _without_needless(frozenset(first | second for first in one for second in other))


def no_stricter(one: Ways, other: Ways) -> bool:
    """Is `one` open whenever `other` is?"""
    return all(any(way <= asked for way in one) for asked in other)


def as_guard(ways: Ways) -> Guard:
    return Guard(tuple(sorted(tuple(sorted(way)) for way in ways)))


def _without_needless(ways: Ways) -> Ways:
    return frozenset(way for way in ways if not any(other < way for other in ways))


@dataclass(frozen=True, slots=True)
class Move:
    """A step that reads `variable`. The gap before it must be clean in one of `ways`, and in none of `closed`."""

    variable: str
    ways: Ways
    closed: Ways
    target: int

    @property
    def label(self) -> tuple[str, Ways, Ways]:
        """All but where it leads."""
        return self.variable, self.ways, self.closed


@dataclass(slots=True)
class Automaton:
    """State 0 is the start, `variables` what the others were reached by. At most one path of open moves leads along a
    trend to an end."""

    variables: list[str]
    moves: list[list[Move]]
    ends: list[Ways]

    @staticmethod
    def with_start() -> Automaton:
        return Automaton([""], [[]], [NO_WAY])

    def add_state(self, variable: str, ends: Ways) -> int:
        if len(self.moves) > MAX_STATES:
            raise TooManyStates
        self.variables.append(variable)
        self.moves.append([])
        self.ends.append(ends)
        return len(self.moves) - 1


def trim(automaton: Automaton, blocking: bool) -> Automaton:
    """Only the states from which a trend can still end; the start is kept in any case.

    `blocking`: under skip-till-next-match an event that could follow keeps later ones from it whatever the NOTs say, so
    a variable that leads to no end is still read, into a state that nothing leaves.
    """
    useful = _find_useful(automaton)
    result = Automaton.with_start()
    kept = [state for state in range(len(automaton.moves)) if state == 0 or state in useful]
    number = {0: 0}
    for state in kept[1:]:
        number[state] = result.add_state(automaton.variables[state], automaton.ends[state])
    dead: dict[str, int] = {}
    for state in kept:
        moves = result.moves[number[state]]
        moves += [
            Move(move.variable, move.ways, move.closed, number[move.target])
            for move in automaton.moves[state]
            if move.target in useful
        ]
        if not blocking or state == 0:
            continue
        always_read = {move.variable for move in moves if not move.closed}
        for variable in dict.fromkeys(move.variable for move in automaton.moves[state]):
            if variable not in always_read:
                if variable not in dead:
                    dead[variable] = result.add_state(variable, NO_WAY)
                moves.append(Move(variable, FREE_WAY, NO_WAY, dead[variable]))
    return result


def _find_useful(automaton: Automaton) -> set[int]:
    before: dict[int, set[int]] = defaultdict(set)
    for state, moves in enumerate(automaton.moves):
        for move in moves:
            before[move.target].add(state)
    useful = {state for state, ways in enumerate(automaton.ends) if ways}
    waiting = list(useful)
    while waiting:
        for state in before[waiting.pop()] - useful:
            useful.add(state)
            waiting.append(state)
    return useful


def intersect(one: Automaton, other: Automaton, blocking: bool) -> Automaton:
    """What both match, as needed for conjunctions (GRETA, Section 9).

    `blocking`: each side is matched by itself under skip-till-next-match, so a step common to both must not skip what
    could follow on either side; what only one of them can read leads to no end.
    """
    numbers: dict[tuple[int, int] | str, int] = {(0, 0): 0}
    result = Automaton.with_start()
    pairs = [(0, 0)]

    def number_of(pair: tuple[int, int], variable: str) -> int:
        if pair not in numbers:
            numbers[pair] = result.add_state(variable, both(one.ends[pair[0]], other.ends[pair[1]]))
            pairs.append(pair)
        return numbers[pair]

    def dead(variable: str) -> int:
        if variable not in numbers:
            numbers[variable] = result.add_state(variable, NO_WAY)
        return numbers[variable]

    for pair in pairs:
        left, right = one.moves[pair[0]], other.moves[pair[1]]
        moves = result.moves[numbers[pair]]
        for move in left:
            for match in right:
                if match.variable != move.variable:
                    continue
                ways, closed = both(move.ways, match.ways), either(move.closed, match.closed)
                if not no_stricter(closed, ways):
                    target = number_of((move.target, match.target), move.variable)
                    moves.append(Move(move.variable, ways, closed, target))
        if blocking:
            of_one, of_other = [move.variable for move in left], [move.variable for move in right]
            alone = dict.fromkeys(v for v in (*of_one, *of_other) if (v in of_one) != (v in of_other))
            moves += [Move(variable, FREE_WAY, NO_WAY, dead(variable)) for variable in alone]
    return trim(result, blocking)


MAX_STATES = 10_000
#: A pattern such as (A?){9999} has few positions and millions of steps between them.
MAX_STEPS = 1_000_000
START = -1


class TooManyStates(Exception):
    """The pattern needs more states or steps than the limit."""


@dataclass(slots=True)
class Positions:
    """A nondeterministic automaton. `steps[p][q]` are the ways from position p to q; START leads to where trends
    begin."""

    variables: list[str] = field(default_factory=list)
    steps: dict[int, dict[int, Ways]] = field(default_factory=dict)
    ends: dict[int, Ways] = field(default_factory=dict)
    empty: Ways = NO_WAY


@dataclass(slots=True)
class _Fragment:
    """A part of the pattern under construction: the ways to be empty, and the positions where it begins and ends."""

    empty: Ways
    first: dict[int, Ways]
    last: dict[int, Ways]


class PositionBuilder:
    """Builds the position automaton of one pattern. `negations` numbers the patterns under NOT, for the whole query."""

    def __init__(self, negations: dict[st.Pattern, int]) -> None:
        self._negations = negations
        self._result = Positions()
        self._step_count = 0

    def build(self, pattern: st.Pattern) -> Positions:
        whole = self._fragment(pattern)
        result = self._result
        result.steps[START] = whole.first
        result.ends = whole.last
        result.empty = whole.empty
        return result

    def _fragment(self, pattern: st.Pattern) -> _Fragment:
        match pattern:
            case st.EventPattern():
                return self._position(pattern.name)
            case st.Sequence(parts=parts):
                return self._sequence([self._fragment(part) for part in parts])
            case st.Alternatives(options=options):
                return self._alternatives([self._fragment(option) for option in options])
            case st.Repeat(body=body, low=low, high=high):
                return self._repeat(body, low, high)
            case st.Negation(body=body):
                number = self._negations.setdefault(body, len(self._negations))
                return _Fragment(unless(number), {}, {})
            case st.Conjunction():
                raise AssertionError("a conjunction has a template per part")

    def _position(self, variable: str) -> _Fragment:
        number = len(self._result.variables)
        if number >= MAX_STATES:
            raise TooManyStates
        self._result.variables.append(variable)
        self._result.steps[number] = {}
        return _Fragment(NO_WAY, {number: FREE_WAY}, {number: FREE_WAY})

    def _sequence(self, parts: list[_Fragment]) -> _Fragment:
        whole = _Fragment(FREE_WAY, {}, {})
        for part in reversed(parts):
            whole = self._join(part, whole)
        return whole

    def _join(self, head: _Fragment, tail: _Fragment) -> _Fragment:
        """Head, then tail. Both are used up: their dictionaries are extended in place, so long chains stay linear."""
        self._connect(head.last, tail.first)
        first, last = head.first, tail.last
        if head.empty:
            for position, ways in tail.first.items():
                first[position] = either(first.get(position, NO_WAY), both(head.empty, ways))
            self._count(len(tail.first))
        if tail.empty:
            for position, ways in head.last.items():
                last[position] = either(last.get(position, NO_WAY), both(ways, tail.empty))
            self._count(len(head.last))
        return _Fragment(both(head.empty, tail.empty), first, last)

    def _alternatives(self, options: list[_Fragment]) -> _Fragment:
        whole = _Fragment(NO_WAY, {}, {})
        for option in options:
            whole.empty = either(whole.empty, option.empty)
            whole.first.update(option.first)
            whole.last.update(option.last)
        return whole

    def _repeat(self, body: st.Pattern, low: int, high: int | None) -> _Fragment:
        if high == 0:
            return _Fragment(FREE_WAY, {}, {})
        positions_before = len(self._result.variables)
        copy = self._fragment(body)
        if len(self._result.variables) == positions_before:
            # Nothing to read in the body: repeating it changes nothing.
            return _Fragment(either(copy.empty, FREE_WAY if low == 0 else NO_WAY), {}, {})
        if high is None:
            self._connect(copy.last, copy.first)
            whole, copies, optional = copy, 1, low == 0
        else:
            # c{2,5} = c c (c (c (c)?)?)?: built from its end, so that each copy leads to the next one only.
            whole, copies, optional = copy, 1, high - low >= 1
        if optional:
            whole.empty = either(whole.empty, FREE_WAY)
        total = max(1, low) if high is None else high
        while copies < total:
            whole = self._join(self._fragment(body), whole)
            copies += 1
            if high is not None and copies <= high - low:
                whole.empty = either(whole.empty, FREE_WAY)
        return whole

    def _connect(self, last: dict[int, Ways], first: dict[int, Ways]) -> None:
        self._count(len(last) * len(first))
        for source, leaving in last.items():
            steps = self._result.steps[source]
            for target, entering in first.items():
                steps[target] = either(steps.get(target, NO_WAY), both(leaving, entering))

    def _count(self, steps: int) -> None:
        self._step_count += steps
        if self._step_count > MAX_STEPS:
            raise TooManyStates


#: Positions among which dominated readings are looked for; beyond it all of them are followed.
_MAX_COMPARED = 300

#: Where a reading is: what its leading NOTs ask for, where that is still to be told, and its position.
Place: TypeAlias = tuple[Ways, int]


class Dominance:
    """Which position can do all that another one can, under NOTs that are no stricter (a simulation between
    positions)."""

    def __init__(self, positions: Positions) -> None:
        self._positions = positions
        self._pairs: set[tuple[int, int]] | None = None

    def remove_dominated(self, reached: dict[Place, Ways]) -> dict[Place, Ways]:
        if len(self._positions.variables) > _MAX_COMPARED:
            return reached
        if self._pairs is None:
            self._pairs = self._simulation()
        # Positions with the same future are one; any way to one of them will do.
        merged: dict[Place, Ways] = {}
        for place, ways in reached.items():
            twin = next((known for known in merged if self._are_twins(known, place)), place)
            merged[twin] = either(merged.get(twin, NO_WAY), ways)
        kept = dict(merged)
        for weak in merged:
            for strong in kept:
                if (
                    strong != weak
                    and (weak[1], strong[1]) in self._pairs
                    and no_stricter(strong[0], weak[0])
                    and no_stricter(merged[strong], merged[weak])
                ):
                    del kept[weak]
                    break
        return kept

    def _are_twins(self, one: Place, other: Place) -> bool:
        assert self._pairs is not None
        return one[0] == other[0] and {(one[1], other[1]), (other[1], one[1])} <= self._pairs

    def _simulation(self) -> set[tuple[int, int]]:
        """The largest set of pairs (weak, strong) such that each step of weak is answered by one of strong."""
        steps, ends, variables = self._positions.steps, self._positions.ends, self._positions.variables
        everything = range(len(variables))
        pairs = {
            (weak, strong)
            for weak in everything
            for strong in everything
            if variables[weak] == variables[strong] and no_stricter(ends.get(strong, NO_WAY), ends.get(weak, NO_WAY))
        }
        shrinking = True
        while shrinking:
            failed = {
                (weak, strong)
                for weak, strong in pairs
                if not all(
                    any(
                        (target, answer) in pairs and no_stricter(open_, ways)
                        for answer, open_ in steps[strong].items()
                    )
                    for target, ways in steps[weak].items()
                )
            }
            pairs -= failed
            shrinking = bool(failed)
        return pairs


def minimise(automaton: Automaton) -> Automaton:
    """Merge states that nothing tells apart, unless two moves would then lead from one state to one state: a step
    between two states is open or closed as a whole."""
    if any(len({move.label for move in moves}) < len(moves) for moves in automaton.moves):
        return automaton
    merged = _merge_equal(automaton)
    if any(len({move.target for move in moves}) < len(moves) for moves in merged.moves):
        return automaton
    return merged


def _merge_equal(automaton: Automaton) -> Automaton:
    """Hopcroft's partition refinement, on an automaton with missing moves."""
    count = len(automaton.moves)
    entering: list[list[tuple[Hashable, int]]] = [[] for _ in range(count)]
    for state, moves in enumerate(automaton.moves):
        for move in moves:
            entering[move.target].append((move.label, state))
    kinds = [(automaton.variables[state], automaton.ends[state], state == 0) for state in range(count)]
    blocks = [set(members) for members in _group_by_kind(range(count), kinds)]
    block_of = {state: index for index, block in enumerate(blocks) for state in block}
    waiting = set(range(len(blocks)))
    while waiting:
        leading_here: dict[Hashable, list[int]] = defaultdict(list)
        for target in blocks[waiting.pop()]:
            for label, state in entering[target]:
                leading_here[label].append(state)
        for states in leading_here.values():
            touched: dict[int, set[int]] = defaultdict(set)
            for state in states:
                touched[block_of[state]].add(state)
            for index, inside in touched.items():
                if len(inside) == len(blocks[index]):
                    continue
                # Going over what was found here costs no more than finding it; the rest of the block may be far larger.
                if 2 * len(inside) <= len(blocks[index]):
                    small = inside
                    blocks[index] -= inside
                else:
                    small = blocks[index] - inside
                    blocks[index] = inside
                blocks.append(small)
                for state in small:
                    block_of[state] = len(blocks) - 1
                # The new block is the smaller one: splitting by it is enough, unless the old one waits anyway.
                waiting.add(len(blocks) - 1)
    return _merge_blocks(automaton, blocks, block_of)


def _group_by_kind(states: Iterable[int], kinds: list[tuple[str, Ways, bool]]) -> Iterable[list[int]]:
    groups: dict[tuple[str, Ways, bool], list[int]] = {}
    for state in states:
        groups.setdefault(kinds[state], []).append(state)
    return groups.values()


def _merge_blocks(automaton: Automaton, blocks: list[set[int]], block_of: dict[int, int]) -> Automaton:
    """One state per block, numbered by its first member, so that the start stays 0."""
    leaders = sorted(min(block) for block in blocks)
    number = {block_of[leader]: index for index, leader in enumerate(leaders)}
    return Automaton(
        [automaton.variables[leader] for leader in leaders],
        [[Move(*move.label, number[block_of[move.target]]) for move in automaton.moves[leader]] for leader in leaders],
        [automaton.ends[leader] for leader in leaders],
    )


#: Different NOTs between which one step may have to choose; each choice is a transition of its own.
_MOST_CHOICES = 8


class NegationsNotKeptApart(Exception):
    """Readings of one trend differ in their leading and in their trailing NOTs, so that windows decide which of them
    counts."""

    def __init__(self, variable: str) -> None:
        self.variable = variable
        super().__init__(variable)


@dataclass(frozen=True, slots=True)
class _Readings:
    """Where the readings of a trend are after an event, and where they would be if NOTs played no part (kept only where
    it matters)."""

    variable: str
    places: frozenset[Place]
    whatever: frozenset[int] = frozenset()


@dataclass(slots=True)
class _Found:
    """Sets of readings and the moves between them. `guessed` are targets of moves from the start that depend on what
    leading NOTs the trend turns out to need."""

    states: list[_Readings]
    moves: list[list[Move]] = field(default_factory=list)
    guessed: list[int] = field(default_factory=list)
    splits: bool = False


def determinise(positions: Positions, blocking: bool, window_apart: bool) -> Automaton:
    """One path per trend.

    Args:
        positions: The position automaton.
        blocking: The strategy is skip-till-next-match, where NOTs play no part in what could follow.
        window_apart: Each window is looked at by itself, so a leading NOT can be split like others.

    Returns:
        An automaton that reads each trend on one path.

    Raises:
        NegationsNotKeptApart: Only windows looked at by themselves can tell.
        TooManyStates: There are more than allowed.
    """
    found = _Explorer(positions, False, window_apart).explore()
    if found.splits and blocking:
        found = _Explorer(positions, True, window_apart).explore()
    return trim(_assemble(found, positions), blocking)


def is_ambiguous(positions: Positions) -> bool:
    """Do readings of one trend differ in their NOTs?"""
    return _Explorer(positions, False, True).explore().splits


class _Explorer:
    """Subset construction over variables and clean gaps."""

    def __init__(self, positions: Positions, tracked: bool, window_apart: bool) -> None:
        self._positions, self._tracked, self._window_apart = positions, tracked, window_apart
        self._dominance = Dominance(positions)
        first = _Readings("", frozenset({(FREE_WAY, START)}), frozenset({START}) if tracked else frozenset())
        self._numbers = {first: 0}
        self._found = _Found([first])
        self._work = 0

    def explore(self) -> _Found:
        for state in self._found.states:
            self._found.moves.append(list(self._moves(state)))
        return self._found

    def _moves(self, state: _Readings) -> Iterator[Move]:
        targets: dict[str, dict[Place, Ways]] = {}
        for lead, position in sorted(state.places, key=lambda place: (place[1], as_guard(place[0]))):
            self._count(len(self._positions.steps[position]))
            for target, ways in self._positions.steps[position].items():
                reached = targets.setdefault(self._positions.variables[target], {})
                reached[lead, target] = either(reached.get((lead, target), NO_WAY), ways)
        whatever: dict[str, set[int]] = {}
        for position in sorted(state.whatever):
            self._count(len(self._positions.steps[position]))
            for target in self._positions.steps[position]:
                whatever.setdefault(self._positions.variables[target], set()).add(target)
        for variable, reached in targets.items():
            if len(set(reached.values())) > 1 or len({lead for lead, _ in reached}) > 1:
                reached = self._dominance.remove_dominated(reached)
            beyond = frozenset(whatever.get(variable, ()))
            leading = START in {position for _, position in state.places} and not self._window_apart
            if leading and len(set(reached.values())) > 1:
                self._found.splits = True
                places = frozenset((ways, position) for (_, position), ways in reached.items())
                target = self._number(_Readings(variable, places, beyond))
                self._found.guessed.append(target)
                continue
            for ways, closed, places in self._split(reached):
                yield Move(variable, ways, closed, self._number(_Readings(variable, places, beyond)))
        for variable in whatever:
            if variable not in targets:
                yield Move(variable, FREE_WAY, NO_WAY, self._number(_Readings(variable, frozenset())))

    def _split(self, reached: dict[Place, Ways]) -> Iterator[tuple[Ways, Ways, frozenset[Place]]]:
        """Ways that are open, ways that are closed, and the readings that are left."""
        choices = list(dict.fromkeys(reached.values()))
        if len(choices) > _MOST_CHOICES:
            raise TooManyStates
        self._found.splits |= len(choices) > 1
        for answers in product((True, False), repeat=len(choices)):
            ways, closed = FREE_WAY, NO_WAY
            for choice, is_open in zip(choices, answers, strict=True):
                ways, closed = (both(ways, choice), closed) if is_open else (ways, either(closed, choice))
            let_through = {choice for choice, is_open in zip(choices, answers, strict=True) if is_open}
            if let_through and not no_stricter(closed, ways):
                yield ways, closed, frozenset(place for place, way in reached.items() if way in let_through)

    def _number(self, state: _Readings) -> int:
        if state not in self._numbers:
            if len(self._numbers) > MAX_STATES:
                raise TooManyStates
            self._numbers[state] = len(self._numbers)
            self._found.states.append(state)
        return self._numbers[state]

    def _count(self, steps: int) -> None:
        self._work += steps
        if self._work > 50 * MAX_STATES:
            raise TooManyStates


def _assemble(found: _Found, positions: Positions) -> Automaton:
    """The states as they were found, and for each guess a copy of those that it can reach."""
    result = Automaton.with_start()
    numbers: dict[tuple[Ways | None, int], int] = {}
    waiting: list[tuple[Ways | None, int]] = []

    def number_of(guess: Ways | None, state: int) -> int:
        if (guess, state) not in numbers:
            lead, ends = _end_of(found.states[state], positions)
            is_end = guess is None or lead == guess
            numbers[guess, state] = result.add_state(found.states[state].variable, ends if is_end else NO_WAY)
            waiting.append((guess, state))
        return numbers[guess, state]

    result.moves[0] = [Move(*move.label, number_of(None, move.target)) for move in found.moves[0]]
    for start in found.guessed:
        variable = found.states[start].variable
        for lead in _leads_from(start, found, positions):
            result.moves[0].append(Move(variable, lead, NO_WAY, number_of(lead, start)))
    for guess, state in waiting:
        result.moves[numbers[guess, state]] = [
            Move(*move.label, number_of(guess, move.target)) for move in found.moves[state]
        ]
    return result


def _leads_from(start: int, found: _Found, positions: Positions) -> list[Ways]:
    """The leading NOTs that trends from this state turn out to need when they end."""
    seen, waiting = {start}, [start]
    for state in waiting:
        for move in found.moves[state]:
            if move.target not in seen:
                seen.add(move.target)
                waiting.append(move.target)
    ends = (_end_of(found.states[state], positions) for state in waiting)
    return list(dict.fromkeys(lead for lead, ways in ends if ways))


def _end_of(state: _Readings, positions: Positions) -> tuple[Ways, Ways]:
    """What leading and what trailing NOTs a trend that ends here needs; NO_WAY behind where none ends."""
    ends: dict[Ways, Ways] = {}
    for lead, position in state.places:
        ways = positions.ends.get(position, NO_WAY)
        if ways:
            ends[lead] = either(ends.get(lead, NO_WAY), ways)
    kept = {
        lead: ways
        for lead, ways in ends.items()
        if not any(
            other != lead and no_stricter(other, lead) and no_stricter(other_ways, ways)
            for other, other_ways in ends.items()
        )
    }
    if len(set(kept.values())) > 1:
        raise NegationsNotKeptApart(state.variable)
    lead, trail = NO_WAY, NO_WAY
    for asked, ways in kept.items():
        lead, trail = either(lead, asked), ways
    return lead, trail
