"""Queries on a few events that between them use every kernel of trends and intervals, so that these are compiled."""

from __future__ import annotations

import pyarrow as pa

from trendweave.language import parse
from trendweave.planning import IntervalPlan, Plan, plan_query
from trendweave.planning.situated_plan import SituatedPlan
from trendweave.programs.intervals.program import bind_intervals
from trendweave.programs.situated.marking import mark_events
from trendweave.programs.trends.detection import STRATEGIES, Detection, Strategy
from trendweave.programs.trends.program import bind_trends

_EVENTS = pa.table(
    {
        "time": list(range(12)),
        "type": ["A", "A", "B"] * 4,
        "x": [1, 3, 2, 5, 4, 6, 5, 7, 6, 8, 7, 9],
    }
)
_PATTERNS = ("A+", "SEQ(A+, B) WHERE A.x < NEXT(A).x", "SEQ(A+, NOT B, A Z) WHERE A.x != NEXT(A).x")
_SHOWN = ("TRENDS", "COMPLETE TRENDS", "EACH COUNT(A), SUM(A.x), MIN(A.x), FIRST(A.x)")
_CHOSEN = ("", "LIMIT 2", "LONGEST 2", "SAMPLE 2")
_TAKEN = (
    "EACH LENGTH PATTERN SEQ(A+, B) WHERE SUM(A.x) > 2 SEMANTICS skip-till-next-match AFTER MATCH SKIP PAST LAST EVENT",
    "COUNT(*), AVG(LENGTH) PATTERN A+ WITHIN 6 seconds SLIDE 2 seconds SEMANTICS contiguous LONGEST PER START",
    "COMPLETE TRENDS PATTERN A{2,3} SAMPLE 2",
)
#: Kernels that only some aggregates ask for; others should not wait for them.
_RARER = (
    "COUNT(*), SUM(B.x) PATTERN SEQ(A, B+) WHERE A.x < B.x",
    "COUNT(DISTINCT A.x) PATTERN SEQ(A+, B)",
)
_WINDOW = "WITHIN 6 seconds SLIDE 2 seconds"
_DEFINED = "DEFINE P AS x > 2, Q AS x < 7 AT LEAST 2 seconds"
_INTERVALS = (
    f"{_DEFINED} RETURN SITUATIONS",
    f"{_DEFINED}, R AS x > PREV(x) PATTERN P before; overlaps; meets Q AND Q before; contains R WITHIN 9 seconds "
    "RETURN FIRST(P.x), SUM(P.x), AVG(Q.x), MIN(Q.x), COUNT(R)",
    f"{_DEFINED} PATTERN P during; overlapped-by; equals Q WITHIN 9 seconds DETECT AT END RETURN MAX(P.x), LAST(Q.x)",
    f"PARTITION BY type {_DEFINED} RETURN SITUATIONS",
    f"PARTITION BY type {_DEFINED} PATTERN P overlaps Q WITHIN 9 seconds RETURN SUM(P.x)",
)
#: Kernels are asked with times as events have them, and where there are keys, with times in another order.
_SITUATED = (
    "DEFINE P AS x > 2 RETURN COUNT(*) PATTERN A+ WHERE A DURING P",
    "DEFINE P AS x > 2 RETURN COUNT(*) PATTERN A+ WHERE [x] AND A DURING P",
)


def run_trend_queries() -> None:
    for pattern in _PATTERNS:
        for shown in _SHOWN:
            for chosen in _CHOSEN:
                _run_trends(f"RETURN {shown} PATTERN {pattern} {_WINDOW} {chosen}", None)
    for shown in _SHOWN:
        _run_trends(f"RETURN {shown} PATTERN {_PATTERNS[1]} SEMANTICS contiguous {_WINDOW}", None)
    for taken in _TAKEN:
        _run_trends(f"RETURN {taken}", None)
    for strategy in STRATEGIES:
        for shown in ("TRENDS", "COMPLETE TRENDS"):
            _run_trends(f"RETURN {shown} PATTERN {_PATTERNS[1]} {_WINDOW}", strategy)


def run_rarer_queries() -> None:
    for asked in _RARER:
        for window in ("", _WINDOW):
            _run_trends(f"RETURN {asked} {window}", None)


def _run_trends(text: str, strategy: Strategy | None) -> None:
    plan = plan_query(*parse(text))
    assert isinstance(plan, Plan)
    program = bind_trends(plan, _EVENTS.schema, "time", "type", "decimal", Detection(strategy=strategy))
    list(program.compute(program.prepare(_EVENTS)[0]).batches)


def run_interval_queries() -> None:
    for text in _INTERVALS:
        plan = plan_query(*parse(text))
        assert isinstance(plan, IntervalPlan)
        program = bind_intervals(plan, _EVENTS.schema, "time", None)
        program.compute(program.prepare(_EVENTS)[0])


def run_situated_queries() -> None:
    """Which events lie in situations; the trends of those that do are those of any other query."""
    for text in _SITUATED:
        plan = plan_query(*parse(text))
        assert isinstance(plan, SituatedPlan)
        mark_events(bind_intervals(plan.situations, _EVENTS.schema, "time", "type"), plan.columns, _EVENTS)
