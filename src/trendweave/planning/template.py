"""Position automaton -> template: determinised, so that each trend has one path, and as small as possible.

Two trends are the same iff they are the same events read as the same variables, so a trend must be counted on one
path only (`SEQ(A, A, A+)` has several ways through its positions for one trend). Determinising over variables gives
that.

Where the ways to one trend differ in their NOTs, the trend is valid if one of them is. A template can say so as long
as a step between two of its states is open or closed as a whole; otherwise the query is refused.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from trendweave.language import syntax_tree as st
from trendweave.planning.guards import NO_WAY, Ways, as_guard, both, either, no_stricter
from trendweave.planning.plan import End, Start, State, Template, Transition
from trendweave.planning.positions import MAX_STATES, START, PositionBuilder, Positions, TooManyStates

#: Positions among which dominated readings are looked for; beyond it such queries are refused.
_MAX_COMPARED = 300


class NegationsNotKeptApart(Exception):
    """Two readings of one trend differ in their NOTs, and what follows them differs too."""

    def __init__(self, variable: str) -> None:
        self.variable = variable
        super().__init__(variable)


@dataclass(slots=True)
class Automaton:
    """A deterministic automaton under construction. State 0 is the start; `moves[s][variable]` is (ways, state)."""

    variables: list[str]
    moves: list[dict[str, tuple[Ways, int]]]
    ends: list[Ways]


def build_automaton(pattern: st.Pattern, negations: dict[st.Pattern, int]) -> tuple[Automaton, Ways]:
    """The smallest automaton of a pattern without AND, and the ways in which the pattern matches the empty trend."""
    positions = PositionBuilder(negations).build(pattern)
    return minimise(_determinise(positions)), positions.empty


def as_template(automaton: Automaton, types: dict[str, str]) -> Template:
    """States numbered in the order in which a reader meets them, walking breadth-first from the start."""
    number = {0: -1}
    order = [0]
    for state in order:
        for _, target in automaton.moves[state].values():
            if target not in number:
                number[target] = len(order) - 1
                order.append(target)
    states, starts, transitions, ends = [], [], [], []
    for state in order:
        if state != 0:
            variable = automaton.variables[state]
            states.append(State(number[state], variable, types[variable]))
            if automaton.ends[state]:
                ends.append(End(number[state], as_guard(automaton.ends[state])))
        for ways, target in automaton.moves[state].values():
            if state == 0:
                starts.append(Start(number[target], as_guard(ways)))
            else:
                transitions.append(Transition(number[state], number[target], as_guard(ways)))
    return Template(tuple(states), tuple(starts), tuple(transitions), tuple(ends))


def intersection(one: Automaton, other: Automaton) -> Automaton:
    """What both match, as needed for conjunctions (GRETA, Section 9)."""
    numbers = {(0, 0): 0}
    result = Automaton([""], [{}], [NO_WAY])
    pairs = [(0, 0)]
    for pair in pairs:
        left, right = one.moves[pair[0]], other.moves[pair[1]]
        for variable in left:
            if variable not in right:
                continue
            target = (left[variable][1], right[variable][1])
            if target not in numbers:
                if len(numbers) > MAX_STATES:
                    raise TooManyStates
                numbers[target] = len(pairs)
                pairs.append(target)
                result.variables.append(variable)
                result.moves.append({})
                result.ends.append(both(one.ends[target[0]], other.ends[target[1]]))
            ways = both(left[variable][0], right[variable][0])
            result.moves[numbers[pair]][variable] = (ways, numbers[target])
    return minimise(_keep_useful_states(result))


def _determinise(positions: Positions) -> Automaton:
    """Subset construction over variables. All positions of a state are reached together, or none of them is."""
    first = frozenset({START})
    numbers = {first: 0}
    subsets = [first]
    result = Automaton([""], [{}], [NO_WAY])
    compared = _Dominance(positions)
    work = 0
    for subset in subsets:
        targets: dict[str, dict[int, Ways]] = {}
        for position in sorted(subset):
            work += len(positions.steps[position])
            if work > 50 * MAX_STATES:
                raise TooManyStates
            for target, ways in positions.steps[position].items():
                reached = targets.setdefault(positions.variables[target], {})
                reached[target] = either(reached.get(target, NO_WAY), ways)
        for variable, reached in targets.items():
            if len(set(reached.values())) > 1:
                reached = compared.remove_dominated(reached)
            if len(set(reached.values())) > 1:
                raise NegationsNotKeptApart(variable)
            goal = frozenset(reached)
            if goal not in numbers:
                if len(subsets) > MAX_STATES:
                    raise TooManyStates
                numbers[goal] = len(subsets)
                subsets.append(goal)
                result.variables.append(variable)
                result.moves.append({})
                ends = NO_WAY
                for position in goal:
                    ends = either(ends, positions.ends.get(position, NO_WAY))
                result.ends.append(ends)
            result.moves[numbers[subset]][variable] = (next(iter(reached.values())), numbers[goal])
    return result


class _Dominance:
    """Which position can do all that another one can, under NOTs that are no stricter (a simulation between
    positions)."""

    def __init__(self, positions: Positions) -> None:
        self._positions = positions
        self._pairs: set[tuple[int, int]] | None = None

    def remove_dominated(self, reached: dict[int, Ways]) -> dict[int, Ways]:
        if len(self._positions.variables) > _MAX_COMPARED:
            return reached
        if self._pairs is None:
            self._pairs = self._simulation()
        # Positions with the same future are one; any way to one of them will do.
        merged: dict[int, Ways] = {}
        for position, ways in reached.items():
            twin = next((p for p in merged if {(p, position), (position, p)} <= self._pairs), position)
            merged[twin] = either(merged.get(twin, NO_WAY), ways)
        kept = dict(merged)
        for weak in merged:
            for strong in kept:
                if strong != weak and (weak, strong) in self._pairs and no_stricter(merged[strong], merged[weak]):
                    del kept[weak]
                    break
        return kept

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


def _keep_useful_states(automaton: Automaton) -> Automaton:
    """Only the states from which a trend can still end; the start is kept in any case."""
    before: dict[int, set[int]] = defaultdict(set)
    for state, moves in enumerate(automaton.moves):
        for _, target in moves.values():
            before[target].add(state)
    useful = {state for state, ways in enumerate(automaton.ends) if ways}
    waiting = list(useful)
    while waiting:
        for state in before[waiting.pop()] - useful:
            useful.add(state)
            waiting.append(state)
    kept = [state for state in range(len(automaton.moves)) if state == 0 or state in useful]
    number = {state: index for index, state in enumerate(kept)}
    return Automaton(
        [automaton.variables[state] for state in kept],
        [
            {name: (ways, number[goal]) for name, (ways, goal) in automaton.moves[state].items() if goal in number}
            for state in kept
        ],
        [automaton.ends[state] for state in kept],
    )


def minimise(automaton: Automaton) -> Automaton:
    """Merge states that nothing tells apart (Hopcroft's partition refinement, on an automaton with missing moves)."""
    count = len(automaton.moves)
    entering: list[list[tuple[Hashable, int]]] = [[] for _ in range(count)]
    for state, moves in enumerate(automaton.moves):
        for variable, (ways, target) in moves.items():
            entering[target].append(((variable, ways), state))
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
                small, large = sorted((inside, blocks[index] - inside), key=len)
                blocks[index] = large
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
        [
            {name: (ways, number[block_of[goal]]) for name, (ways, goal) in automaton.moves[leader].items()}
            for leader in leaders
        ],
        [automaton.ends[leader] for leader in leaders],
    )
