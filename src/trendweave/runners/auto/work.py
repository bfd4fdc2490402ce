"""A plan and a look at events -> what there is to do, in the units that devices are paid by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

from trendweave.devices.choosing import Costs, Units, Work
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.operator_plans import AggregatePlan, FilterPlan, JoinPlan, RowCount, TimeSpan
from trendweave.planning.plan import MovingWindow, Plan, SessionWindow, SlidingWindow, Way
from trendweave.planning.situated_plan import SituatedPlan
from trendweave.programs.operators.joins.conditions import JoinCondition, read_parts
from trendweave.programs.operators.joins.searches import FEW, NARROW
from trendweave.programs.trends.lists.edges import why_not_linked
from trendweave.runners.auto.sample import Sample

_SCANNED = frozenset({Way.SCAN})
_RANKED = frozenset({Way.SUMS_OVER_RANKS, Way.RANKS_PER_VALUE})
#: Bytes of numbers that a card is given for each event and each that it gives back, besides columns.
_CARD_BYTES = 32
#: What rows cost that need not be brought together by key.
_IN_ORDER = 0.5
#: What a row of the result costs that is brought back from those of its key, as many times as one that is read.
_WRITTEN = 5
#: Few windows with more events than this leave most of a card idle: a pair takes so many times as long.
_LONG, _MANY_KEYS, _IDLE = 8_192, 128, 5
#: Few pairs are looked at without compiling a loop for them: each takes so many times as long on a core.
_SLOW_LINKS, _SLOW_PAIRS = 18, 50
#: The share of candidates among pairs where values must be equal or near, and nobody has looked at them.
_ASSUMED_MATCHING = 0.01


@dataclass(frozen=True, slots=True)
class Task:
    """Kind and number of units of work, why no card does it (None where one may), and units on a card where these are
    others."""

    kind: str
    units: float
    not_on_card: str | None = None
    card_units: float | None = None


def find_task(plan: object, sample: Sample) -> Task:
    """What is to be done for a plan of any kind."""
    kept = sample.rows * sample.kept
    match plan:
        case SituatedPlan():
            inner = find_task(plan.trend, sample)
            return Task(inner.kind, inner.units, "situations are not found on a GPU")
        case Plan():
            return _of_trends(plan, sample, kept)
        case IntervalPlan():
            return Task("intervals", kept, "patterns over intervals are not matched on a GPU")
        case FilterPlan():
            return Task("filter", float(sample.rows) * _nodes(plan))
        case AggregatePlan():
            by_key, written = (1, _WRITTEN) if plan.keys else (_IN_ORDER, 1)
            units = kept * max(1, len(plan.outputs)) * by_key + written * count_result_rows(plan, sample)
            return Task("windows", units, card_units=kept * by_key**2)  # it brings rows together
        case JoinPlan():
            return _of_join(plan, sample, kept)
    return Task("others", kept, "no GPU does this")


def find_tasks(plan: object, sample: Sample) -> list[Task]:
    """All that is to be done for a plan, the main task first."""
    found = [find_task(plan, sample)]
    if isinstance(plan, JoinPlan):
        condition = read_parts(plan.condition)
        if condition.equal or _is_narrow(condition, _share(condition, sample)):
            # Each event looks for partners in sorted values, however few it finds.
            found.append(Task("partners", sample.rows * sample.kept * sample.looks))
    return found


def _of_join(plan: JoinPlan, sample: Sample, kept: float) -> Task:
    """Pairs that are looked at: not those of unequal values, nor those beyond a narrow band."""
    condition = read_parts(plan.condition)
    share = _share(condition, sample)
    pairs = kept * sample.looks * (_active(plan.left, sample) + _active(plan.right, sample)) / 2 * share
    is_scan = bool(condition.pairs) and not _is_narrow(condition, share)
    return Task("pairs", pairs * (1 if is_scan and pairs >= FEW else _SLOW_PAIRS), card_units=pairs)


def _share(condition: JoinCondition, sample: Sample) -> float:
    """The share of candidates among pairs."""
    if sample.matching is not None:
        return sample.matching
    is_selective = condition.equal or any(band.is_closed for band in condition.bands)
    return _ASSUMED_MATCHING if is_selective else 1.0


def _is_narrow(condition: JoinCondition, share: float) -> bool:
    return bool(condition.bands) and share <= NARROW


def _of_trends(plan: Plan, sample: Sample, kept: float) -> Task:
    events, windows = _windows(plan, sample)
    steps = [step for template in plan.templates for step in template.transitions]
    ways = {step.summing.way for step in steps}
    transitions = max(1, len(steps))
    if plan.finds_trends:
        unserved = why_not_linked(plan)
        refused = None if unserved is None else f"{unserved} is not served on a GPU"
        if ways & _SCANNED:
            # Events of one type are compared with those of another in each window.
            types = len({variable.type for variable in plan.variables})
            pairs = kept * events / 2 * transitions / max(1, types) ** 2
            return Task("links", pairs, refused, pairs)
        return Task("trends one by one", kept, refused or "trends are found faster on a core")
    refused = "skip-till-next-match" if plan.strategy == "skip-till-next-match" else None
    if ways & _SCANNED:
        return Task("scan", kept * windows * events / 2 * transitions, refused)
    if ways & _RANKED:
        pairs = kept * windows * events / 2 * transitions
        if events > _LONG and sample.keys < _MANY_KEYS:
            pairs *= _IDLE
        return Task("sums over ranks", kept * windows * log2(events + 2) * transitions, refused, pairs)
    by_key = 1 if plan.partition_key else _IN_ORDER
    return Task("running sums", kept * by_key * (1 + transitions / 10), refused)


def _windows(plan: Plan, sample: Sample) -> tuple[float, float]:
    """Events of a key in a window, and windows that hold an event."""
    match plan.window:
        case SlidingWindow(length=length, slide=slide):
            return sample.in_window(length), max(1.0, length / slide)
        case MovingWindow(length=length):
            events = sample.in_window(length)
            return events, events
        case SessionWindow(gap=gap):
            return sample.in_window(gap), 1.0
    return sample.in_window(None), 1.0


def _nodes(plan: FilterPlan) -> int:
    return sum(1 for _ in plan.condition.walk())


def _active(window: TimeSpan | RowCount, sample: Sample) -> float:
    """Events in an active window, about."""
    if isinstance(window, RowCount):
        return min(float(window.rows), sample.per_key)
    return sample.in_window(window.length)


def count_result_rows(plan: object, sample: Sample) -> float:
    """About how many rows come out; 0 where nothing is known of it, or where they are few."""
    kept = sample.rows * sample.kept
    match plan:
        case AggregatePlan(window=RowCount() as window):
            return kept / window.slide
        case AggregatePlan(window=TimeSpan(length=length, slide=slide)):
            each = length / slide if slide else 1.0
            windows = sample.span / slide * sample.keys if slide and sample.span > 0 else kept
            return min(kept * max(1.0, each), windows)
        case JoinPlan():
            return 0.0 if sample.matching is None else find_task(plan, sample).card_units or 0.0
        case Plan(window=SlidingWindow(length=length, slide=slide)) if not plan.finds_trends and sample.span > 0:
            return min(kept * max(1.0, length / slide), sample.span / slide * sample.keys)
    return 0.0


def make_work(tasks: Sequence[Task], sample: Sample, not_dealt: str | None, parts: int, largest: float) -> Work:
    """The work of a run: tasks of one kind are added up, and the kind that costs a core most gives it its name."""
    prices, by_kind = Costs().units, dict[str, Units]()
    for task in tasks:
        before, on_card = by_kind.get(task.kind, Units(task.kind, 0.0)), task.units
        if task.card_units is not None:
            on_card = task.card_units
        by_kind[task.kind] = Units(task.kind, before.units + task.units, before.on_card + on_card)
    main, *others = sorted(by_kind.values(), key=lambda one: one.units * prices.get(one.kind, 0.0), reverse=True)
    kept = sample.rows * sample.kept
    refused = next((one.not_on_card for one in tasks if one.not_on_card is not None), None)
    return Work(
        kind=main.kind,
        rows=sample.rows,
        kept=kept,
        units=main.units,
        card_units=main.on_card,
        others=tuple(others),
        parts=parts,
        bytes=kept * (sample.row_bytes + _CARD_BYTES),
        largest=largest,
        not_dealt=not_dealt,
        not_on_card=refused,
    )
