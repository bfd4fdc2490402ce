"""Position automaton -> one path per trend.

Two trends are the same iff they are the same events read as the same variables, so a trend must be counted on one path
only (`SEQ(A, A, A+)` has several ways through its positions for one trend). Determinising over variables gives that.

Readings of one trend may differ in their NOTs; it is valid if one of them is. "This gap is clean" is then one more
letter: a step splits by which of the readings it lets through, so that the readings that are left are those of a
state. What a leading NOT says depends on the window and cannot be split at the beginning of a trend. There the readings
are told apart by their leading NOTs until the trend ends, and the beginning is guessed: one copy of the states per
answer that an end can give, in which only such ends are ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from trendweave.planning.automata.automaton import Automaton, Move, trim
from trendweave.planning.automata.dominance import Dominance, Place
from trendweave.planning.automata.guards import FREE_WAY, NO_WAY, Ways, as_guard, both, either, no_stricter
from trendweave.planning.automata.positions import MAX_STATES, START, Positions, TooManyStates

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
