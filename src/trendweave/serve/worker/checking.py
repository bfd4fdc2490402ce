"""While a query is written: whether it can be read, and whether it fits the chosen events."""

from __future__ import annotations

from trendweave import Query
from trendweave.serve.worker.job import Job, Message


def check(job: Job) -> Message:
    """`ok`, with what kind of query it is. Problems are raised.

    Raises:
        TrendweaveError: All problems.
    """
    queries = job.queries()
    kinds = [queries.kind] if isinstance(queries, Query) else [queries[name].kind for name in queries]
    if job.asked.source is not None:
        from trendweave.serve.worker.columns import events_for_check

        events = events_for_check(job)
        queries.check(events.schema, events.time, events.type_for(queries))
    return {"event": "ok", "kinds": kinds}
