"""As few states as possible: states that nothing tells apart become one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable

from trendweave.planning.automata.automaton import Automaton, Move
from trendweave.planning.automata.guards import Ways


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
