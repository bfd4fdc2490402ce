"""How a store is read for an interval query: by the coarse map of its situations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trendweave.planning.interval_plan import IntervalPlan
from trendweave.runners.options import Using
from trendweave.store.patterns.access import WORTH, Access, Considered, ReadSection
from trendweave.store.patterns.everything import Everything
from trendweave.store.patterns.intervals.zones import find_zones
from trendweave.store.patterns.rewriting.possible_blocks import find_possible
from trendweave.store.patterns.sections import find_sections


def plan_zones(plan: IntervalPlan, everything: Everything, using: Using) -> Access:
    """How a store is read for an interval query.

    Args:
        plan: Its plan.
        everything: What reading all of it is.
        using: What may be used.
    """
    store, low, high = everything.store, everything.low, everything.high
    blocks = store.blocks
    sections = find_sections([], store, low, high)
    if not sections:
        return everything.nothing()
    (section,) = sections
    conditions = (find_possible(one.condition, blocks, store.schema) for one in plan.situations)
    zones = find_zones(plan, np.array(list(conditions)), blocks, section.blocks, store.kind, high).clip(low, high)
    touched = zones.touch(section.firsts, section.lasts)
    groups = np.unique(blocks.number[section.blocks[touched]])
    cost = everything.cost_of(groups)
    considered = (*everything.considered, Considered("light index", cost))
    if using == "auto" and WORTH * everything.cost.seconds <= cost.seconds:
        return everything.access("reading everything costs least", considered)
    read = ReadSection(None, zones, groups)
    found = everything.access("", considered)
    reads = (read,) if groups.size else ()
    counted = (int(touched.sum()), found.blocks[1])
    return replace(found, road="light index", reason=None, sections=reads, estimated=cost, blocks=counted)
