"""The columns of matches that tell something of their situations."""

from __future__ import annotations

import pyarrow as pa

from trendweave.kernels.intervals.situations import rows_reaching
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.programs.intervals.matching import FoundMatches
from trendweave.programs.intervals.rows import IntervalRows
from trendweave.programs.intervals.situations import SituationBuffers
from trendweave.programs.intervals.values import Stretches, summarise, write_summary
from trendweave.results.types import column_type


def match_values(
    plan: IntervalPlan,
    names: tuple[str | None, ...],
    events: pa.Schema,
    rows: IntervalRows,
    situations: SituationBuffers,
    found: FoundMatches,
) -> dict[int, pa.Array]:
    """The aggregate columns of matches: what each situation had before the match was certain."""
    stretches: dict[int, Stretches] = {}
    values = {}
    for number, output in enumerate(plan.outputs):
        if output.function in (None, "DURATION") or output.situation is None:
            continue
        if output.situation not in stretches:
            stretches[output.situation] = seen_before(plan, rows, situations, found, output.situation)
        asked = stretches[output.situation]
        parts = summarise(output, names[number], rows, asked)
        kind = None if output.path is None else column_type(events, output.path)
        values[number] = write_summary(output, parts, kind, asked.of)
    return values


def seen_before(
    plan: IntervalPlan, rows: IntervalRows, situations: SituationBuffers, found: FoundMatches, kind: int
) -> Stretches:
    """The rows of a situation before the moment of the match; of a given interval, its one row."""
    place = found.situation[:, kind]
    first, last = situations.first_row[place], situations.end_row[place]
    cut = last if plan.intervals is not None else rows_reaching(rows.time, found.moment, first, last)
    return Stretches.distinct(place, first, cut)
