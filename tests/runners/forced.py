"""Ways of summing that are forced upon aggregates: all of them give the same rows."""

from __future__ import annotations

from functools import partial

import pyarrow as pa
import pytest

import trendweave
from tests.kernels.forced import aggregate
from trendweave.planning import ways
from trendweave.programs.trends import aggregates, program


def run_forced(query: trendweave.Query, events: pa.Table, way: str | None, **options: str) -> pa.Table:
    """Rows of a query whose sums are found as planned (None), by the ways of its transitions ("general"), or by
    looking at every predecessor ("scan"). Where a way is forced, events are copied into lanes."""
    with pytest.MonkeyPatch.context() as patch:
        if way is not None:
            patch.setattr(aggregates, "aggregate", partial(aggregate, force_way=way))
            patch.setattr(ways, "_sums_lanes", lambda *_: False)
            patch.setattr(program, "steps_from_row_to_row", lambda _: False)
        return query.run(events, **options)
