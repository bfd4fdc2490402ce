"""Readings that need not be followed, as another one can do all that they can, under NOTs that are no stricter."""

from __future__ import annotations

from typing import TypeAlias

from trendweave.planning.automata.guards import NO_WAY, Ways, either, no_stricter
from trendweave.planning.automata.positions import Positions

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
