"""While a query is written: whether it can be read, and whether it fits the chosen events."""

from __future__ import annotations

from trendweave import Query, Workload
from trendweave.serve.worker.job import Job, Message


def check(job: Job) -> Message:
    """`ok`, with what kind of query it is. Problems are raised.

    Raises:
        TrendweaveError: All problems.
    """

    def check_columns(queries: Query | Workload) -> None:
        if job.asked.source is None:
            return
        from trendweave.serve.worker.columns import events_for_check

        events = events_for_check(job)
        queries.check(events.schema, events.time, events.type_for(queries))

    queries = job.queries(check_columns)
    check_columns(queries)
    kinds = [queries.kind] if isinstance(queries, Query) else [queries[name].kind for name in queries]
    return {"event": "ok", "kinds": kinds}
