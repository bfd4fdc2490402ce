"""Several sequence counts at once as A-Seq has them (Section 4): prefix trees, chop-connect, multi-connect.

A count is asked for whenever a last event (TRIG) arrives at time t: of all sequences whose first event (START) has not
expired, that is, came after t - window (Lemmas 3 and 4). The paper lets no two events arrive at once; here events of
one time never stand in one sequence, so each looks at the counts before that time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

Arrival = tuple[str, float]
"""Type and time of an event."""
Answers = dict[str, list[tuple[float, int]]]
"""By the name of the query: (time, count) at each time at which a last event arrived."""


def ticks(stream: Iterable[Arrival]) -> Iterator[tuple[float, list[str]]]:
    """The events time by time."""
    for time, arrivals in groupby(sorted(stream, key=lambda arrival: arrival[1]), key=lambda arrival: arrival[1]):
        yield time, [kind for kind, _ in arrivals]


# --------------------------------------------------------------------------------------------------- prefix tree (4.1)


@dataclass
class PreTree:
    """The counts that begin with one START event: a number for each distinct prefix of the queries."""

    expires: float
    counts: dict[tuple[str, ...], int]


def prefixes(patterns: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The nodes of the tree: every beginning once, shorter ones first."""
    return sorted(
        {pattern[:size] for pattern in patterns for size in range(1, len(pattern) + 1)}, key=lambda p: (len(p), p)
    )


@dataclass
class PrefixSharing:
    """Queries with a common first type; `updates` counts how often a number was touched."""

    patterns: Mapping[str, tuple[str, ...]]
    window: float
    trees: list[PreTree] = field(default_factory=list)
    updates: int = 0

    def run(self, stream: Iterable[Arrival]) -> Answers:
        answers: Answers = {name: [] for name in self.patterns}
        nodes = prefixes(self.patterns.values())
        for time, kinds in ticks(stream):
            self.trees = [tree for tree in self.trees if tree.expires > time]
            for tree in self.trees:
                before = dict(tree.counts)
                for kind in kinds:
                    for node in nodes:
                        if len(node) > 1 and node[-1] == kind:
                            tree.counts[node] += before[node[:-1]]
                            self.updates += 1
            for kind in kinds:
                begun = {node: int(node == (kind,)) for node in nodes if node[0] == kind}
                if begun:
                    self.trees.append(PreTree(time + self.window, begun))
            for name, pattern in self.patterns.items():
                if pattern[-1] in kinds:
                    answers[name].append((time, sum(tree.counts.get(pattern, 0) for tree in self.trees)))
        return answers


# -------------------------------------------------------------------------------------------------- chop-connect (4.2)


@dataclass(frozen=True)
class SnapshotRow:
    """One row of a snapshot table: the START event of the whole sequence, when it expires, its count so far."""

    tag: str
    expires: float
    count: int


@dataclass
class PreCntr:
    """The counts of a stretch that begin with one event of its first type. `counts[i]`: of its first i + 1 types.

    A query that has the stretch after others attached a snapshot of what lies before, when this event came.
    """

    name: str
    expires: float
    counts: list[int]
    snapshots: dict[tuple[str, int], list[SnapshotRow]] = field(default_factory=dict)


Stretch = tuple[str, ...]


@dataclass
class ChopConnect:
    """Queries chopped into stretches; a stretch that several of them have is counted once."""

    queries: Mapping[str, Sequence[Stretch]]
    window: float
    counters: dict[Stretch, list[PreCntr]] = field(default_factory=dict)
    _seen: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for stretches in self.queries.values():
            for stretch in stretches:
                self.counters.setdefault(stretch, [])

    def run(self, stream: Iterable[Arrival]) -> Answers:
        answers: Answers = {name: [] for name in self.queries}
        for time, kinds in ticks(stream):
            begun = self._begun(time, kinds)
            for stretch, counters in self.counters.items():
                self.counters[stretch] = kept = [counter for counter in counters if counter.expires > time]
                for counter in kept:
                    before = list(counter.counts)
                    for kind in kinds:
                        for place in range(1, len(stretch)):
                            counter.counts[place] += before[place - 1] if stretch[place] == kind else 0
            for stretch, counter in begun:
                self.counters[stretch].append(counter)
            for name, stretches in self.queries.items():
                if stretches[-1][-1] in kinds:
                    answers[name].append((time, self.count(name, time)))
        return answers

    def _begun(self, time: float, kinds: list[str]) -> list[tuple[Stretch, PreCntr]]:
        """Counters of the stretches that begin now, with the snapshots that connect them (CNET)."""
        begun = []
        for kind in kinds:
            self._seen[kind] = self._seen.get(kind, 0) + 1
            for stretch in self.counters:
                if stretch[0] == kind:
                    counter = PreCntr(
                        f"{kind.lower()}{self._seen[kind]}", time + self.window, [1] + [0] * (len(stretch) - 1)
                    )
                    for name, stretches in self.queries.items():
                        for place in range(1, len(stretches)):
                            if stretches[place] == stretch:
                                counter.snapshots[name, place] = self.counts_by_tag(name, place, time)
                    begun.append((stretch, counter))
        return begun

    def counts_by_tag(self, name: str, places: int, time: float) -> list[SnapshotRow]:
        """Counts of the query's first stretches, one row for each START event that is not expired.

        Of the first stretch these are its counters; of more, the products of a counter and the rows of its snapshot,
        added up by tag (multi-connect).
        """
        stretch = self.queries[name][places - 1]
        alive = [counter for counter in self.counters[stretch] if counter.expires > time]
        if places == 1:
            return [SnapshotRow(counter.name, counter.expires, counter.counts[-1]) for counter in alive]
        together: dict[str, SnapshotRow] = {}
        for counter in alive:
            for row in counter.snapshots[name, places - 1]:
                if row.expires > time:
                    so_far = together[row.tag].count if row.tag in together else 0
                    added = so_far + row.count * counter.counts[-1]
                    together[row.tag] = SnapshotRow(row.tag, row.expires, added)
        return list(together.values())

    def count(self, name: str, time: float) -> int:
        """Lemma 7, with expired rows left out."""
        return sum(row.count for row in self.counts_by_tag(name, len(self.queries[name]), time))
