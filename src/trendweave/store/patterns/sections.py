"""Sections of a store, and what has to be read around a trend so that it means what it means in a full run.

Where files are bucketed by keys that a query asks to be equal, each bucket is a section; else all files are one. A
trend that lies in a stretch without gaps has all events between its own beside it, so that strategies and NOTs
inside it see what they see in a full run. A NOT at its edge looks as far as its window does; and where trends of one
window are chosen among, or taken in pairs, the whole window must be there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trendweave.language import syntax_tree as st
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.plan import NEVER, Plan, SessionWindow, SlidingWindow
from trendweave.planning.situated_plan import QueryPlan, SituatedPlan
from trendweave.store.event_store import EventStore
from trendweave.store.patterns.intervals import Reach, Stretches


@dataclass(frozen=True, slots=True)
class Section:
    """Attributes:
    bucket: Its number; None where it is the only section.
    files: Whether each file is in it.
    blocks: The numbers of its blocks that have events between the times that are asked for.
    firsts: The first such time of each.
    lasts: The last such time of each.
    """

    bucket: int | None
    files: np.ndarray
    blocks: np.ndarray
    firsts: np.ndarray
    lasts: np.ndarray


def find_sections(plans: Sequence[Plan], store: EventStore, low: int | None, high: int | None) -> list[Section]:
    """The sections that have events between two times, both included; None: no bound.

    Args:
        plans: Of the queries for trends that run; none for situations, which are looked for in all buckets at once.
        store: The events.
        low: The first time.
        high: The last time.
    """
    blocks = store.blocks
    firsts = blocks.first if low is None else np.maximum(blocks.first, low)
    lasts = blocks.last if high is None else np.minimum(blocks.last, high)
    known = (firsts <= lasts) & (blocks.count > 0)
    told = {file.bucket for file in store.files}
    numbers = np.zeros(len(store.files), np.int64)
    if None not in told and len({bucket[1] for bucket in told if bucket}) == 1 and is_apart(plans, store):
        numbers = np.array([file.bucket[0] for file in store.files if file.bucket], np.int64)
    sections = []
    for bucket in np.unique(numbers).tolist():
        files = numbers == bucket
        taken = np.flatnonzero(known & files[blocks.file])
        if taken.size:
            sections.append(Section(bucket, files, taken, firsts[taken], lasts[taken]))
    return sections if len(sections) != 1 else [_only(sections[0])]


def _only(section: Section) -> Section:
    return Section(None, section.files, section.blocks, section.firsts, section.lasts)


def is_apart(plans: Sequence[Plan], store: EventStore) -> bool:
    """Whether no trend has events of two buckets: queries ask all keys of buckets to be equal. Without queries for
    trends buckets are read together."""
    if not store.keys or not plans:
        return False
    keys = {(name,) for name in store.keys}
    return all(keys <= {key.path for key in plan.partition_key} for plan in plans)


@dataclass(frozen=True, slots=True)
class Context:
    """Whether stretches reach back, and ahead, to the edges of windows; and whether what lies in different stretches
    must be kept apart."""

    back: bool
    ahead: bool
    apart: bool

    @staticmethod
    def of(plan: Plan) -> Context:
        """What a plan asks for."""
        starts = [start for template in plan.templates for start in template.starts]
        ends = [end for template in plan.templates for end in template.ends]
        leading = any(not start.guard.always_open or start.closed != NEVER for start in starts)
        trailing = any(not end.guard.always_open for end in ends)
        whole = (
            plan.is_conjunction
            or plan.window_apart
            or isinstance(plan.window, SessionWindow)
            or plan.choice is not None
            or (plan.selection is not None and isinstance(plan.window, SlidingWindow))
        )
        apart = bool(plan.negations) or plan.strategy != "skip-till-any-match"
        return Context(leading or whole, trailing or whole, apart)

    def widen(self, stretches: Stretches, reach: Reach) -> Stretches:
        """The stretches with what lies around them."""
        lows = reach.earliest_begin(stretches.lows) if self.back else stretches.lows
        highs = reach.latest_end(stretches.highs) if self.ahead else stretches.highs
        return Stretches.of(lows, highs)


def count_comparisons(plan: QueryPlan) -> int:
    """How many values of each event a query compares with others, for estimates."""
    if isinstance(plan, SituatedPlan):
        return count_comparisons(plan.trend)
    if isinstance(plan, IntervalPlan):
        return len(plan.situations)
    local = [condition for variable in plan.variables for condition in variable.local]
    compared = (st.Comparison, st.Between, st.InList, st.Like, st.RLike, st.IsNull)
    return len(plan.variables) + sum(isinstance(node, compared) for one in local for node in one.walk())


def why_everything(plan: QueryPlan) -> str | None:
    """Why all events have to be read; None where some may do."""
    if isinstance(plan, SituatedPlan):
        return "a situation that began long ago may still hold, so all events are read"
    if isinstance(plan, IntervalPlan):
        return "situations beside other queries are runs of events of any length, so all events are read"
    if plan.choice is not None and plan.choice.kind == "sample":
        return "a sample is drawn from all trends in their order, so all events are read"
    return None
