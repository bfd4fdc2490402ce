"""Automata over variables whose steps are open or closed by NOTs, and what can be done with any of them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from trendweave.planning.automata.guards import FREE_WAY, NO_WAY, Ways, both, either, no_stricter
from trendweave.planning.automata.positions import MAX_STATES, TooManyStates


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
