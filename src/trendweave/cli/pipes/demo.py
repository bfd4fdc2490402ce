"""A chapter of the tour: operators in a chain, on real flights and on a large stream."""

from __future__ import annotations

from time import perf_counter

from rich.console import Console
from rich.markup import escape

from trendweave import operators
from trendweave.cli.terminal import print_table
from trendweave.datasets import sample_flights, stock

_LATE = """
FILTER dep_delay >= 15
| AGGREGATE AVG(dep_delay) AS mean, COUNT(*) AS flights OVER 2 hours BY origin
| FILTER mean > 120 AND flights >= 10
"""
_MOVING = "AGGREGATE AVG(price) AS mean, MAX(price) AS most OVER 100 ROWS SLIDE 1 ROW BY company"


def show_operators(console: Console, events: int) -> None:
    """Show a chain of operators and its rows, and how fast one is.

    Args:
        console: Where it is shown.
        events: How many events are made for the second one.
    """
    console.rule("[bold]And with operators")
    late = operators.pipe(_LATE)
    console.print("Two hours in which late departures of an airport were later than two hours on average:\n")
    console.print(escape(_LATE.strip()), highlight=False)
    print_table(console, late.run(sample_flights()))
    moving = operators.pipe(_MOVING)
    with console.status("making the events"):
        transactions = stock(events, seed=7, companies=1_000)
    moving.run(transactions.slice(0, 5_000))  # kernels are loaded
    begun = perf_counter()
    rows = moving.run(transactions)
    elapsed = perf_counter() - begun
    console.print(f"\n{escape(str(moving))}", highlight=False, soft_wrap=True)
    console.print(
        f"{events:,} events of 1,000 companies, the last hundred of each after every one, in {elapsed:,.2f} s: "
        f"[bold]{events / elapsed:,.0f} events/s[/bold], {rows.num_rows:,} rows",
        highlight=False,
    )
