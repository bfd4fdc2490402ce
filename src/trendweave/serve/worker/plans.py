"""What can be told of queries before they run: whether they can be read and fit the chosen events, and what will be
computed and how, as text and drawn; of a workload, what its queries share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trendweave import EventStore, Query, Workload, plot
from trendweave.errors import TrendweaveError
from trendweave.serve.worker.jobs import Job, Message, in_own_words, translate

#: A drawing of more rules shows nothing any more.
_MOST_DRAWN = 60


def check(job: Job) -> Iterator[Message]:
    """`ok`, with what kind of query it is. Problems are raised.

    Raises:
        TrendweaveError: All problems.
    """

    def check_columns(queries: Query | Workload) -> None:
        if job.asked.source is None:
            return
        from trendweave.serve.worker.events import events_for_check

        events = events_for_check(job)
        queries.check(events.schema, events.time, events.type_for(queries))

    queries = job.queries(check_columns)
    check_columns(queries)
    kinds = [queries.kind] if isinstance(queries, Query) else [queries[name].kind for name in queries]
    yield {"event": "ok", "kinds": kinds}


def show_plans(job: Job) -> Iterator[Message]:
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
        yield {"event": "plan", "queries": [_show("", queries)], "shared": None, "access": access}
        return
    plans = [_show(name, queries[name]) for name in queries]
    yield {"event": "plan", "queries": plans, "shared": _show_sharing(queries), "access": access}


def _show(name: str, query: Query) -> dict[str, Any]:
    return {
        "name": name,
        "kind": query.kind,
        "text": translate(query.explain()),
        "drawing": plot(query).inline(styled=False),
    }


def _show_sharing(queries: Workload) -> dict[str, Any]:
    drawing = ""
    if len(queries) <= _MOST_DRAWN:
        drawing = plot(queries).inline(styled=False)
    return {"text": translate(queries.explain()), "drawing": drawing}


def _explain_access(job: Job, queries: Query | Workload) -> str:
    """What is read of a store; the reason where that cannot be told."""
    from trendweave.serve.worker.events import bounds_of, open_events

    source = job.asked.needed_source()
    try:
        store = open_events(job).found
        assert isinstance(store, EventStore)
        return translate(queries.explain(store, between=bounds_of(source, store)))
    except TrendweaveError as error:
        return "\n".join(in_own_words(problem).render(error.source) for problem in error.problems)
