"""Small patterns and streams for both engines."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import pairwise

STRATEGIES = ("skip-till-any-match", "skip-till-next-match", "contiguous")
#: Random streams a case, besides the ones that are written down.
RANDOM_STREAMS = 40


@dataclass(frozen=True)
class Event:
    id: int
    time: int
    type: str
    x: int


@dataclass(frozen=True)
class Case:
    """`steps` are types, with + for one or more. `rising`: each event of a trend has a larger x than the one before.

    `differs` is why the engines give different trends, or None where they agree on every stream.
    """

    strategy: str
    steps: tuple[str, ...]
    rising: bool = False
    ties: bool = False
    differs: str | None = None

    @property
    def name(self) -> str:
        pattern = self.steps[0] if len(self.steps) == 1 else f"SEQ({', '.join(self.steps)})"
        notes = [note for note, there in (("rising x", self.rising), ("ties in time", self.ties)) if there]
        return ", ".join([pattern, *notes])

    @property
    def query(self) -> str:
        pattern = self.steps[0] if len(self.steps) == 1 else f"SEQ({', '.join(self.steps)})"
        types = [step.rstrip("+") for step in self.steps]
        conditions = [f"{one}.x < NEXT({one}).x" for one, step in zip(types, self.steps, strict=True) if "+" in step]
        conditions += [f"{one}.x < {two}.x" for one, two in pairwise(types)]
        where = f" WHERE {' AND '.join(conditions)}" if self.rising else ""
        return f"RETURN TRENDS PATTERN {pattern}{where} SEMANTICS {self.strategy}"


def streams(case: Case) -> list[list[Event]]:
    """Types A to D, of which the pattern may name fewer; times differ unless ties are what the case is about."""
    made = [_written(text) for text in ("A A B", "A B A B", "A X A B B", "A A A", "B A", "A B X C", "A B B C A C")]
    drawn = random.Random(f"{case.strategy} {case.name}")
    for _ in range(RANDOM_STREAMS):
        types = drawn.choices("AABBCX", k=drawn.randint(1, 7))
        made.append([Event(number, number, kind, drawn.randint(0, 4)) for number, kind in enumerate(types)])
    if case.ties:
        return [[Event(event.id, event.time // 2, event.type, event.x) for event in stream] for stream in made]
    return made


def _written(text: str) -> list[Event]:
    return [Event(number, number, kind, number) for number, kind in enumerate(text.split())]


_CHOICE = (
    "Flink's relaxed contiguity is a rule per step: while it waits for B it may pass over an A that the loop could "
    "take, so A1 B is a match beside A1 A2 B. Here the rule is per event: A1 can be followed by A2, so it is not "
    "followed by B over it"
)
_TIES = (
    "Flink puts events of one time into the order of their arrival, so they follow one another and stand between "
    "others; here they do neither"
)

_ANY, _NEXT, _CONTIGUOUS = STRATEGIES
CASES = (
    *(Case(strategy, ("A", "B")) for strategy in STRATEGIES),
    *(Case(strategy, ("A", "B", "C")) for strategy in STRATEGIES),
    *(Case(strategy, ("A+",)) for strategy in STRATEGIES),
    Case(_ANY, ("A+", "B")),
    Case(_NEXT, ("A+", "B"), differs=_CHOICE),
    Case(_CONTIGUOUS, ("A+", "B")),
    Case(_ANY, ("A", "B+")),
    Case(_NEXT, ("A", "B+")),
    Case(_CONTIGUOUS, ("A", "B+")),
    Case(_ANY, ("A+", "B+")),
    Case(_NEXT, ("A+", "B+"), differs=_CHOICE),
    Case(_CONTIGUOUS, ("A+", "B+")),
    *(Case(strategy, ("A+",), rising=True) for strategy in STRATEGIES),
    *(Case(strategy, ("A", "B"), rising=True) for strategy in STRATEGIES),
    Case(_ANY, ("A+", "B"), rising=True),
    Case(_NEXT, ("A+", "B"), rising=True, differs=_CHOICE),
    Case(_CONTIGUOUS, ("A+", "B"), rising=True),
    *(Case(strategy, ("A+",), ties=True, differs=_TIES) for strategy in STRATEGIES),
    *(Case(strategy, ("A", "B"), ties=True, differs=_TIES) for strategy in STRATEGIES),
)
