"""Parts that queries have in common anywhere in their patterns: types of sequences (A-Seq, Section 4.2), Kleene parts
(HAMLET, Section 3).

A stretch that queries have in common is several parts, one after the other: each is computed for all of its queries at
once, and takes up what the one before it has counted for each (the snapshot, where a stretch begins).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import replace

from trendweave.sharing.merged import MergedQueries, Reading, SharedPart


def find_parts(merged: MergedQueries) -> MergedQueries:
    """Find states that are alike.

    Args:
        merged: An automaton without parts.

    Returns:
        The same with parts: each state is in one.
    """
    loops: dict[int, set[Reading | None]] = defaultdict(set)
    near: dict[int, set[int]] = defaultdict(set)
    for step in merged.steps:
        if step.source == step.target:
            loops[step.source].add(step.blocker)
        else:
            near[step.source].add(step.target)
            near[step.target].add(step.source)
    part_of: dict[int, tuple[Hashable, int]] = {}
    states: dict[tuple[Hashable, int], list[int]] = defaultdict(list)
    for number, state in enumerate(merged.states):
        look = (state.reading.type, frozenset(loops[number]))
        taken = {part_of[other] for other in near[number] if other in part_of}
        part_of[number] = next((look, n) for n in range(len(taken) + 1) if (look, n) not in taken)
        states[part_of[number]].append(number)
    return replace(merged, parts=tuple(map(SharedPart, map(tuple, states.values()))))
