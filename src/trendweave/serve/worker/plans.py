"""What will be computed and how: the plan as text and drawn; of a workload, what its queries share."""

from __future__ import annotations

from typing import Any

from trendweave import EventStore, Query, Workload, plot
from trendweave.errors import TrendweaveError
from trendweave.serve.worker.drawing import write_drawing
from trendweave.serve.worker.job import Job, Message
from trendweave.serve.worker.own_words import in_own_words, translate

#: A drawing of more rules shows nothing any more.
_MOST_DRAWN = 60


def show_plans(job: Job) -> Message:
    """The plan of each query, and what they share; on a store, what would be read of it.

    Raises:
        TrendweaveError: The queries have problems.
    """
    queries = job.queries()
    source = job.asked.source
    access = ""
    if source is not None and source.kind == "store":
        access = _explain_access(job, queries)
    if isinstance(queries, Query):
        return {"event": "plan", "queries": [_show("", queries)], "shared": None, "access": access}
    plans = [_show(name, queries[name]) for name in queries]
    return {"event": "plan", "queries": plans, "shared": _show_sharing(queries), "access": access}


def _show(name: str, query: Query) -> dict[str, Any]:
    return {
        "name": name,
        "kind": query.kind,
        "text": translate(query.explain()),
        "drawing": write_drawing(plot(query)),
    }


def _show_sharing(queries: Workload) -> dict[str, Any]:
    drawing = ""
    if len(queries) <= _MOST_DRAWN:
        drawing = write_drawing(plot(queries))
    return {"text": translate(queries.explain()), "drawing": drawing}


def _explain_access(job: Job, queries: Query | Workload) -> str:
    """What is read of a store; the reason where that cannot be told."""
    from trendweave.serve.worker.sources import bounds_of, open_events

    source = job.asked.needed_source()
    try:
        store = open_events(job).found
        assert isinstance(store, EventStore)
        return translate(queries.explain(store, between=bounds_of(source, store)))
    except TrendweaveError as error:
        return "\n".join(in_own_words(problem).render(error.source) for problem in error.problems)
