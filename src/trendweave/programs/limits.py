"""What is refused before it is computed, because it takes too much time or memory: templates that are too large for the
events at hand, and results of too many rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from trendweave.errors import ExecutionError, Problem
from trendweave.language.durations import duration_text
from trendweave.planning.plan import Plan, SlidingWindow
from trendweave.programs.trends.detection import Limits
from trendweave.rows.codes import key_codes
from trendweave.rows.encoded import TIME
from trendweave.rows.times import TimeType, as_steps

#: A template with at most so many states times transitions costs little per event, however many there are.
_SMALL_TEMPLATE = 10_000


def check_template(plan: Plan, events: int, limits: Limits) -> None:
    """Refuse a template that is too large for so many events.

    An event may take every transition, and adds numbers whose digits grow with the states or with the events,
    whichever are fewer.

    Raises:
        ExecutionError: TW480.
    """
    for template in (plan.template, *(negated.template for negated in plan.negations)):
        states, transitions = len(template.states), len(template.transitions)
        work = transitions * events * min(states, events)
        if states * transitions > _SMALL_TEMPLATE and work > limits.max_work:
            fewer = "states" if states < events else "events"
            message = (
                f"the pattern has {states:,} states and {transitions:,} transitions, too many for {events:,} events: "
                f"transitions x events x {fewer} are {work:.1e}, and max_work is {limits.max_work:.1e}"
            )
            hint = "repeat less often ({n} writes a part n times), use fewer events, or raise max_work="
            raise ExecutionError([Problem("TW480", message, hint)])


def check_rows(plan: Plan, rows: pa.Table, groups: tuple[str, ...], kind: TimeType, limits: Limits) -> None:
    """Refuse a query whose windows alone make more rows than a result may have.

    Args:
        plan: The plan.
        rows: Prepared rows.
        groups: The columns that tell rows of a window apart.
        kind: How the time column counts.
        limits: What is allowed.

    Raises:
        ExecutionError: TW481.
    """
    window = plan.window
    if not isinstance(window, SlidingWindow):
        return
    length, slide = (max(1, one // kind.step) for one in (window.length, window.slide))
    per_event = -(-length // slide)
    if per_event * rows.num_rows <= limits.max_rows:
        return
    # Events of a group share windows: there are no more than hold its first event or begin until its last.
    times = as_steps(rows.column(TIME), kind)
    codes = key_codes([rows.column(name) for name in groups], times.size)
    order = np.lexsort((times, codes))
    times, codes = times[order], codes[order]
    first = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
    last = np.append(first[1:], codes.size) - 1
    spanned = times[last] // slide - times[first] // slide - (times[first] % slide - length) // slide
    most = int(np.minimum(spanned.astype(np.float64), (last - first + 1) * float(per_event)).sum())
    if most > limits.max_rows:
        message = (
            f"each event lies in {per_event:,} windows of {duration_text(window.length)}, "
            f"so there could be {most:,} rows; max_rows is {limits.max_rows:,}"
        )
        hint = f"use a longer SLIDE than {duration_text(window.slide)}, group by less, or raise max_rows="
        raise ExecutionError([Problem("TW481", message, hint)])
