"""A chapter of the tour: the same questions asked of a stored month, with and without its index."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.markup import escape

from trendweave import EventStore, query
from trendweave.datasets import stock

_FROM_THE_TOP = """
RETURN company, COUNT(*) AS trends
PATTERN SEQ(Stock A, Stock B+)
WHERE [company] AND A.price > {} AND A.price > B.price AND B.price > NEXT(B).price
GROUP-BY company
WITHIN 6 hours SLIDE 6 hours
"""
_MONTH = 31 * 86_400_000_000


def show_store(console: Console, events: int) -> None:
    """Store generated events of a month, and ask them.

    Args:
        console: Where it is shown.
        events: How many.
    """
    console.rule("[bold]And of a stored month")
    with TemporaryDirectory() as folder:
        with console.status("storing the events and indexing them"):
            store, highest = _store(folder, events)
        console.print(
            f"{events:,} transactions of January 2024 in Parquet files, with an index on the price beside them."
        )
        falls = query(_FROM_THE_TOP.strip().format(highest))
        console.print("Prices that fall after one of the highest of the month:\n")
        console.print(escape(str(falls)), highlight=False)
        console.print(escape("\n" + str(falls.explain(store))), highlight=False, soft_wrap=True)
        _compare(console, "\nthe pattern", lambda using: falls.run(store, using=using))
        question = ("COUNT(*), AVG(price), MAX(price)", "1 day", "1 hour")
        _compare(
            console,
            "count, average and maximum of a day, every hour",
            lambda using: store.aggregate(*question, using=using),
        )


def _store(folder: str, events: int) -> tuple[EventStore, float]:
    table = stock(events, seed=7, companies=1_000)
    begin = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
    times = pa.array(begin + np.arange(events) * (_MONTH // events), pa.timestamp("us", "UTC"))
    table = table.set_column(table.schema.get_field_index("time"), "time", times)
    store = EventStore.create(folder, table.schema, index=["price"])
    store.append(table)
    return store, round(pc.quantile(table.column("price"), 0.99999)[0].as_py(), 2)


def _compare(console: Console, what: str, ask: Callable[..., pa.Table]) -> None:
    ask("replay")  # kernels are loaded
    seconds, rows = {}, set()
    for using in ("replay", "index"):
        begun = perf_counter()
        rows.add(ask(using).num_rows)
        seconds[using] = perf_counter() - begun
    assert len(rows) == 1, "an index changes no answer"
    ratio = seconds["replay"] / seconds["index"]
    console.print(
        f"{what}: {rows.pop():,} rows; all events read {seconds['replay'] * 1e3:,.0f} ms, by the index "
        f"{seconds['index'] * 1e3:,.0f} ms: [bold]{ratio:,.0f} times as fast[/bold]",
        highlight=False,
    )
