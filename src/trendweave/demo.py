"""A short tour: three queries of the GRETA paper, and what Trendweave makes of them."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape

from trendweave.queries import query

QUERIES = {
    "Stock market: down-trends per sector (GRETA, query Q1)": """
RETURN sector, COUNT(*)
PATTERN Stock S+
WHERE [company, sector] AND S.price > NEXT(S).price
GROUP-BY sector
WITHIN 10 minutes SLIDE 10 seconds""",
    "Cluster: CPU cycles of mappers under rising load (GRETA, query Q2)": """
RETURN mapper, SUM(M.cpu)
PATTERN SEQ(Start S, Measurement M+, End E)
WHERE [job, mapper] AND M.load < NEXT(M).load
GROUP-BY mapper
WITHIN 1 minute SLIDE 30 seconds""",
    "Traffic: slowing cars on roads without accidents (GRETA, query Q3)": """
RETURN segment, COUNT(*), AVG(P.speed)
PATTERN SEQ(NOT Accident A, Position P+)
WHERE [P.vehicle, segment] AND P.speed > NEXT(P).speed
GROUP-BY segment
WITHIN 5 minutes SLIDE 1 minute""",
}


def run_demo(console: Console) -> None:
    for title, text in QUERIES.items():
        console.rule(f"[bold]{title}")
        console.print(escape(query(text.strip()).explain()), highlight=False, soft_wrap=True)
        console.print()
