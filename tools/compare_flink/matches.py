"""Contiguous matches, taken one after the other: AFTER MATCH SKIP here, and MATCH_RECOGNIZE of Flink SQL."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

import trendweave
from tools.compare_flink.cases import Event

#: Streams a case; each is a partition of one table.
STREAMS = 60
_SKIPS = ("PAST LAST EVENT", "TO NEXT EVENT")


@dataclass(frozen=True)
class Shape:
    """A pattern in both languages. Flink lets no variable that repeats come last, so each shape ends with one event.

    `variables` in order, those that repeat with a quantifier; `types` of the streams; `where` are our conditions,
    `define` theirs.
    """

    name: str
    variables: tuple[str, ...]
    types: str
    where: str
    define: str

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(variable.rstrip("+{2,}") for variable in self.variables)


@dataclass(frozen=True)
class SkipCase:
    shape: Shape
    skip: str

    @property
    def name(self) -> str:
        return f"{self.shape.name}, {self.skip}"

    @property
    def query(self) -> str:
        """Ours."""
        types = self.shape.types if len(self.shape.types) > 1 else self.shape.types * len(self.shape.names)
        steps = [f"{kind} {variable}" for kind, variable in zip(types, self.shape.variables, strict=True)]
        where = f" AND {self.shape.where}" if self.shape.where else ""
        return (
            f"RETURN TRENDS(id) PATTERN SEQ({', '.join(steps)}) SEMANTICS contiguous WHERE [stream]{where} "
            f"GROUP-BY stream AFTER MATCH SKIP {self.skip}"
        )

    @property
    def sql(self) -> str:
        """Theirs, in one line: the stream, and the first and last event of each variable."""
        ends = ", ".join(f"FIRST({one}.id) AS {one}_first, LAST({one}.id) AS {one}_last" for one in self.shape.names)
        skip = self.skip.replace("EVENT", "ROW")
        return (
            f"SELECT * FROM events MATCH_RECOGNIZE (PARTITION BY part ORDER BY ts MEASURES {ends} ONE ROW PER MATCH "
            f"AFTER MATCH SKIP {skip} PATTERN ({' '.join(self.shape.variables)}) DEFINE {self.shape.define})"
        )


_FALLS = "(LAST(b.x, 1) IS NULL AND b.x < a.x) OR b.x < LAST(b.x, 1)"
_RISES = "(LAST(c.x, 1) IS NULL AND c.x > LAST(b.x)) OR c.x > LAST(c.x, 1)"
_V = Shape(
    "V shape",
    ("a", "b+", "c+", "d"),
    "S",
    "a.x > b.x AND b.x > NEXT(b).x AND b.x < c.x AND c.x < NEXT(c).x AND c.x >= d.x",
    f"b AS {_FALLS}, c AS {_RISES}, d AS d.x <= LAST(c.x)",
)
_RISING = Shape(
    "three or more that rise",
    ("a", "b{2,}", "d"),
    "S",
    "a.x < b.x AND b.x < NEXT(b).x AND b.x >= d.x",
    "b AS (LAST(b.x, 1) IS NULL AND b.x > a.x) OR b.x > LAST(b.x, 1), d AS d.x <= LAST(b.x)",
)
# Flink fails where a match is left at its first event, so none of the skips below leads there.
_PAIR = Shape("a, b", ("a", "b"), "AB", "", "a AS a.kind = 'A', b AS b.kind = 'B'")
_RUN = Shape("a+, b", ("a+", "b"), "AB", "", "a AS a.kind = 'A', b AS b.kind = 'B'")

CASES = (
    *(SkipCase(shape, skip) for shape in (_V, _RISING, _PAIR, _RUN) for skip in _SKIPS),
    SkipCase(_V, "TO FIRST c"),
    SkipCase(_V, "TO LAST c"),
    SkipCase(_RISING, "TO LAST b"),
)


def streams(case: SkipCase) -> list[list[Event]]:
    """Streams of one type with values that go up and down, or of several types."""
    drawn = random.Random(case.name)
    types = "S" if len(case.shape.types) == 1 else case.shape.types + "X"
    return [
        [Event(place, place, drawn.choice(types), drawn.randint(0, 5)) for place in range(drawn.randint(1, 14))]
        for _ in range(STREAMS)
    ]


def csv_lines(case: SkipCase) -> Iterator[str]:
    """All events of a case in order of time."""
    events = [(event.time, number, event) for number, stream in enumerate(streams(case)) for event in stream]
    for _, number, event in sorted(events, key=lambda one: one[:2]):
        yield f"{number},{event.id},{event.time},{event.type},{event.x}\n"


def ours(case: SkipCase) -> set[tuple[int, ...]]:
    """Matches as the stream, and the first and last event of each variable."""
    rows = [vars(event) | {"stream": number} for number, stream in enumerate(streams(case)) for event in stream]
    found = set()
    for row in trendweave.query(case.query).run(pa.Table.from_pylist(rows)).to_pylist():
        ends = []
        for name in case.shape.names:
            ids = [event["id"] for event in row["events"] if event["variable"] == name]
            ends += [ids[0], ids[-1]]
        found.add((row["stream"], *ends))
    return found
