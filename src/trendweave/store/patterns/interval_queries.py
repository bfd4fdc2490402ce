"""How a store is read for an interval query: zones of time in which its situations may be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trendweave.planning.interval_plan import IntervalPlan
from trendweave.rows.times import TimeType
from trendweave.runners.options import Using
from trendweave.store.index.blocks import Blocks
from trendweave.store.patterns.access import WORTH, Access, Considered, Everything, ReadSection
from trendweave.store.patterns.intervals import NOWHERE, Stretches
from trendweave.store.patterns.rewriting import find_possible
from trendweave.store.patterns.sections import find_sections


def why_all_zones(plan: IntervalPlan, type_: str | None) -> str | None:
    """Why all events have to be read; None where some may do."""
    if plan.intervals is not None:
        return "rows have no single time, so all of them are read"
    if plan.returns == "counts":
        return "situations are counted at all times, so all events are read"
    if plan.looks_back:
        return "conditions look at the event before (PREV), so all events are read"
    if type_ is not None and plan.source is not None:
        return "which events are of one type is not known of blocks, so all events are read"
    return None


def find_zones(
    plan: IntervalPlan, possible: np.ndarray, blocks: Blocks, taken: np.ndarray, kind: TimeType, high: int | None
) -> Stretches:
    """What has to be read for an interval query.

    Args:
        plan: Its plan.
        possible: Per situation and block, whether its condition may hold somewhere in the block.
        blocks: All blocks.
        taken: The numbers of those that have events which are asked for.
        kind: How the time column counts.
        high: The last time that is asked for; None: no bound.
    """
    possible = possible[:, taken]
    firsts, lasts = blocks.first[taken], blocks.last[taken]
    needed = possible.any(axis=0)
    if not needed.any() or (plan.returns == "matches" and not possible.any(axis=1).all()):
        return NOWHERE
    if plan.partition_by:
        # Steps of one partition say nothing of others, so that only what lies before all situations can be left out.
        return Stretches(firsts[needed].min()[None], lasts.max()[None])
    quiet = ~needed & blocks.exact[taken]
    between = np.sort(np.concatenate([firsts[quiet], lasts[quiet]]))
    between = between if high is None else between[between <= high]
    zones = _join(Stretches.of(firsts[needed], lasts[needed]), between)
    if plan.within and plan.returns == "matches":
        zones = _keep_near(zones, possible, firsts, lasts, -(-plan.within // kind.step))
    following = np.searchsorted(between, zones.highs, side="right")
    ends = np.append(between, lasts.max())[following]
    return Stretches.of(zones.lows, np.maximum(zones.highs, ends))


def _join(ranges: Stretches, between: np.ndarray) -> Stretches:
    """Ranges without a step between them at which no situation runs, as one zone."""
    following = np.append(between, np.iinfo(np.int64).max)[np.searchsorted(between, ranges.highs[:-1], side="right")]
    apart = np.flatnonzero(following < ranges.lows[1:]) + 1
    return Stretches(ranges.lows[np.append(0, apart)], ranges.highs[np.append(apart, ranges.count) - 1])


def _keep_near(zones: Stretches, possible: np.ndarray, firsts: np.ndarray, lasts: np.ndarray, within: int) -> Stretches:
    """Zones near enough to all situations of a match."""
    near = np.ones(zones.count, np.bool_)
    for row in possible:
        own = Stretches.of(firsts[row], lasts[row])
        near &= own.touch(zones.lows - within, zones.highs + within)
    return Stretches(zones.lows[near], zones.highs[near])


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
