"""Plan of a trend query whose events lie in situations -> text, drawings and JSON, of the trend and the situations."""

from __future__ import annotations

import json
from typing import Any

from trendweave.planning.show import drawing, explain, intervals
from trendweave.planning.situated_plan import SituatedPlan

_TASKS = "a task per key at least; a situation may have begun long ago, so time is not cut"


def explain_text(plan: SituatedPlan) -> str:
    """The plan of the trend, then that of the situations."""
    lines = ["query", *(f"  {line}" for line in plan.text.split("\n")), "", *explain.explain_plan(plan.trend, _TASKS)]
    return "\n".join([*lines, "", "situations that events lie in", "", *intervals.explain_plan(plan.situations, False)])


def as_json(plan: SituatedPlan) -> str:
    """What is said of a trend query, with the whole text, and under `situations` what is said of an interval query."""
    content: dict[str, Any] = json.loads(drawing.as_json(plan.trend))
    content["text"] = plan.text
    content["situations"] = json.loads(intervals.as_json(plan.situations))
    return json.dumps(content, indent=2, ensure_ascii=False)
