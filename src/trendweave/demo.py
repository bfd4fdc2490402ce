"""A short tour on real data: how often did delays build up at the airports of New York in two weeks of February
2013?"""

from __future__ import annotations

from time import perf_counter

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.markup import escape

from trendweave.datasets import sample_flights
from trendweave.kernels import warm_up
from trendweave.queries import query
from trendweave.terminal import bars, print_table

QUERY = """
RETURN origin, COUNT(*) AS trends, COUNT(D) AS flights, MAX(D.dep_delay) AS worst
PATTERN Departure D{3,}
WHERE [origin, carrier] AND D.dep_delay >= 15 AND D.dep_delay < NEXT(D).dep_delay
GROUP-BY origin
WITHIN 1 day SLIDE 1 day
"""


def run_demo(console: Console) -> None:
    delays = query(QUERY.strip())
    console.rule("[bold]Delays that build up")
    console.print(
        "Three or more departures of one airline from one airport on one day, each later than the one before.\n"
        "Every such trend counts, whatever lies between its flights; no trend is ever built.\n"
    )
    console.print(escape(delays.explain()), highlight=False, soft_wrap=True)
    console.print()
    with console.status("compiling kernels (once per machine)"):
        warm_up()
    events = sample_flights()
    begun = perf_counter()
    result = delays.run(events)
    elapsed = perf_counter() - begun
    console.rule("[bold]The days with the most trends")
    most = result.sort_by([("trends", "descending")]).slice(0, 8)
    print_table(console, most)
    total = int(pc.sum(result.column("trends")).as_py())
    console.print(f"\n{events.num_rows:,} events, {total:,} trends counted in {elapsed * 1e3:,.0f} ms\n")
    _chart(console, result)


def _chart(console: Console, result: pa.Table) -> None:
    """Trends per day and airport, on a logarithmic scale."""
    days = sorted(set(result.column("window_start").to_pylist()))
    console.rule("[bold]Trends per day in February 2013, UTC (logarithmic)")
    found = {(row["origin"], row["window_start"]): int(row["trends"]) for row in result.to_pylist()}
    for origin in sorted({origin for origin, _ in found}):
        counts = [found.get((origin, day), 0) for day in days]
        line = "".join(bar * 3 + " " for bar in bars(counts))
        console.print(f"{origin}  {line} max {max(counts):,}", highlight=False)
    console.print("     " + "".join(f"{day.day:>2}  " for day in days), highlight=False)
