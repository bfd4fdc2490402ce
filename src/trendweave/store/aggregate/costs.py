"""What an answer costs, from the tree and by replay (thesis, 3.3.2).

The thesis estimates merges: one per event in a replay, and per slide of the index about one per level, some of the
fan-out and the events of the two leaves at its ends. Here the walk down the tree has counted nodes and row groups
already, so that no estimate of them is needed, only what each costs; `calibrate` measures these on a machine.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass

from trendweave.store.layout.places import OWN_FOLDER, Place

_FILE = f"{OWN_FOLDER}/costs.json"


@dataclass(frozen=True, slots=True)
class Costs:
    """Nanoseconds.

    Attributes:
        row: To read an event's time and put it into its slice.
        value: To read a value and add it up.
        group: To begin with a row group.
        node: To look at a node of the tree.
    """

    row: float = 8.0
    value: float = 12.0
    group: float = 150_000.0
    node: float = 60.0

    def of_rows(self, groups: int, rows: int, columns: int) -> float:
        """Of reading some row groups."""
        return groups * self.group + rows * (self.row + columns * self.value)

    def of_nodes(self, nodes: int, columns: int) -> float:
        """Of walking over nodes."""
        return nodes * self.node * (1 + columns)


def load_costs(place: Place) -> Costs:
    """What was measured here; else what was measured on some machine."""
    try:
        read = json.loads(place.read(_FILE))
        found = Costs(**{key: float(value) for key, value in read.items()})
    except (OSError, ValueError, TypeError):
        return Costs()
    return found if all(math.isfinite(cost) and cost > 0 for cost in asdict(found).values()) else Costs()


def save_costs(place: Place, costs: Costs) -> None:
    """Keep what was measured beside the data."""
    place.write(_FILE, json.dumps(asdict(costs)).encode())
