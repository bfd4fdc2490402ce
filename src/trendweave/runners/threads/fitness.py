"""Which programs are dealt out to threads, and how each part is asked; those that are not say why."""

from __future__ import annotations

from dataclasses import replace

from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.plan import Plan
from trendweave.programs.operators.chain import ChainedRows
from trendweave.programs.operators.filter import KeptEvents
from trendweave.programs.operators.joins.program import WindowJoin
from trendweave.programs.program import Program
from trendweave.programs.shared.metrics import SharingMetrics
from trendweave.programs.shared.program import Shared
from trendweave.programs.situated import InSituations
from trendweave.programs.trends.program import ListedAggregates, TrendAggregates, TrendLists
from trendweave.runners.threads.putting_together import has_known_order


def why_on_one_core(program: Program) -> str | None:
    """Why the rows of a program are not dealt out, whatever they are; None where they may be."""
    if isinstance(program, Shared):
        return _why_not_shared(program)
    if program.needs.time is None:
        return "rows of given intervals have no single time"
    if not has_known_order(program):
        return "the order of its rows is not known"
    if isinstance(program, ChainedRows):
        return _why_not_a_chain(program)
    inner = program.inner if isinstance(program, InSituations) else program
    parts = program.partials()
    if parts is not None and parts.of_stretches:
        return "situations without PARTITION BY go on from event to event"
    plan = getattr(inner, "plan", None)
    if isinstance(plan, Plan):
        if plan.order_by and parts is None:
            return "rows are ordered together (ORDER BY)"
        if isinstance(inner, TrendLists) and plan.having and not _is_counted(plan):
            return "trends that HAVING leaves out count for max_trends"
    if not program.needs.own_keys and program.cut() is None:
        return "there are no keys, and time is not cut"
    return None


def _why_not_a_chain(chain: ChainedRows) -> str | None:
    """Each of its operators may be dealt out, and all of them by the same keys."""
    for stage in chain.stages:
        one = stage.program
        if isinstance(one.inner if isinstance(one, InSituations) else one, TrendLists):
            return "trends that queries in a chain show count together"
        if not isinstance(one, KeptEvents) and (reason := why_on_one_core(one)) is not None:
            return reason
    if not chain.needs.own_keys and chain.cut() is None:
        return "operators have no keys in common"
    return None


def _is_counted(plan: Plan) -> bool:
    """Whether it is known how many trends there are before they are shown."""
    return not (plan.match_conditions or plan.selection is not None or plan.complete)


def _why_not_shared(program: Shared) -> str | None:
    plans = program.plan.plans
    if any(not isinstance(plan, IntervalPlan) and getattr(plan, "order_by", ()) for plan in plans):
        return "rows are ordered together (ORDER BY)"
    if any(not isinstance(plan, Plan) or plan.finds_trends for plan in plans):
        return "of workloads, those of aggregates alone are dealt out"
    if not program.needs.own_keys and program.cut() is None:
        return "queries have no keys in common, and time is not cut"
    return None


def for_part(program: Program, parts: int) -> Program:
    """The program as one part of several asks it: limits of memory hold for all of them together, and what each counts
    is its own."""
    if isinstance(program, Shared):
        return replace(program, metrics=SharingMetrics())
    if isinstance(program, InSituations):
        return replace(program, inner=_with_less_memory(program.inner, parts))
    if isinstance(program, TrendLists | ListedAggregates):
        return _with_less_memory(program, parts)
    if isinstance(program, ChainedRows):
        stages = tuple(replace(stage, program=for_part(stage.program, parts)) for stage in program.stages)
        return replace(program, stages=stages)
    # A part has one core, and a join would deal out its own pairs.
    return replace(program, device="cpu") if isinstance(program, WindowJoin) else program


def _with_less_memory(program: TrendAggregates | TrendLists, parts: int) -> TrendAggregates | TrendLists:
    if not isinstance(program, TrendLists | ListedAggregates):
        return program
    return replace(program, detection=replace(program.detection, memory=program.detection.memory // parts))
