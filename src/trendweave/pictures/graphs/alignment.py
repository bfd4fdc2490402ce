"""How high things stand in their columns: near what leads to them and what they lead to, and apart from each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise


def align_rows(
    order: Sequence[Sequence[str]], room: Mapping[str, tuple[float, float]], steps: Sequence[tuple[str, str]]
) -> dict[str, float]:
    """Find a height for every name.

    Args:
        order: Per column its names from top to bottom.
        room: Per name what it needs above and below its middle.
        steps: What leads to what, from one column to the next.

    Returns:
        Per name its height; names of one column keep their order and their room.
    """
    before, after = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for source, target in steps:
        after[source].append(target)
        before[target].append(source)
    heights: dict[str, float] = {}
    for names in order:
        heights |= _stand_apart(names, dict.fromkeys(names, 0.0), room)
    # The last walk leads forwards, so that what has one way to it stands straight behind it.
    for near, walk in ((before, order), (after, order[::-1]), (before, order)):
        for names in walk:
            wanted = {name: _mean([heights[one] for one in near[name]], heights[name]) for name in names}
            heights |= _stand_apart(names, wanted, room)
    return heights


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _stand_apart(
    names: Sequence[str], wanted: Mapping[str, float], room: Mapping[str, tuple[float, float]]
) -> dict[str, float]:
    """Move names of a column apart, as little as their squares tell: neighbours that are too near move together."""
    offsets = [0.0]
    for upper, lower in pairwise(names):
        offsets.append(offsets[-1] + room[upper][1] + room[lower][0])
    # Without the room that they need, heights have to grow: those that do not are averaged.
    groups: list[tuple[float, int]] = []
    for name, offset in zip(names, offsets, strict=False):
        mean, number = wanted[name] - offset, 1
        while groups and groups[-1][0] > mean:
            above, members = groups.pop()
            mean = (above * members + mean * number) / (members + number)
            number += members
        groups.append((mean, number))
    means = [mean for mean, number in groups for _ in range(number)]
    return {name: mean + offset for name, mean, offset in zip(names, means, offsets, strict=False)}
