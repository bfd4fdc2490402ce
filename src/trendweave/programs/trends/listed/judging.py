"""What must hold for whole trends where only those that are taken are found: which trend of each beginning meets it.

Beginnings are judged some at a time, ahead of taking: first the trend of each that ends last, which is folded together
with those of all others, and then, only where that fails, its other trends one after the other. Where one path alone
leads on from a beginning, its trends are beginnings of one another, and a walk ends as soon as no longer one can do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from trendweave.kernels.listing.contiguous import Folding, RunFolds, new_folding
from trendweave.kernels.taking.candidates import (
    Candidates,
    Path,
    Reach,
    Starts,
    Walked,
    collect_starts,
    new_path,
    walk_candidates,
)
from trendweave.kernels.taking.paths import Decisions, TakenEntries, Taking, TakingProgress
from trendweave.kernels.taking.ways import Following, Ways, new_ways
from trendweave.programs.trends.contiguous.folds import read_folded
from trendweave.programs.trends.graphs import SegmentGraph
from trendweave.programs.trends.listed.conditions import MatchConditions, Verdict
from trendweave.results.shown_trends import FoldedOutput

#: Beginnings that are judged at once, at least, in the beginning, and at most.
_FEWEST_STARTS, _SOME_STARTS, _MOST_STARTS = 64, 1024, 65_536
#: Candidates in a buffer, and those of one beginning that are walked at first; then three times as many as before.
_CANDIDATES, _FIRST_CANDIDATES = 1 << 17, 16


@dataclass(frozen=True, slots=True)
class LastBlock:
    """Beginnings that were judged at once, the candidates that were walked for it, and how many vertices taking had
    skipped before."""

    starts: int
    walked: int
    skipped: int


@dataclass(frozen=True, slots=True)
class Demands:
    """What whole trends must meet: conditions, with what they fold over trends, and that a leading NOT is clean, which
    is asked of first and last vertices. `check` is told how many candidates were walked."""

    conditions: MatchConditions | None
    folds: RunFolds
    is_clean: Callable[[SegmentGraph, np.ndarray, np.ndarray], np.ndarray] | None
    check: Callable[[int], None]

    def judge(self, part: SegmentGraph, outputs: list[FoldedOutput], first: np.ndarray, last: np.ndarray) -> Verdict:
        """Judge trends by what was folded of each, and by their ends."""
        every = np.ones(first.size, np.bool_)
        verdict = Verdict(every, every, every, every)
        if self.conditions is not None:
            verdict = self.conditions.judge(outputs, first.size)
        if self.is_clean is None or not first.size:
            return verdict
        clean = self.is_clean(part, first, last)
        return replace(verdict, holds=verdict.holds & clean, may_end_sooner=clean)


@dataclass(slots=True)
class Judge:
    """Judges the beginnings of a graph; `known` and `searches` are kept for `collect_starts`."""

    part: SegmentGraph
    follows: Following
    reach: Reach
    taking: Taking
    entries: TakenEntries
    demands: Demands
    ways: Ways
    ahead: Folding
    path: Path
    at_once: int = _SOME_STARTS
    last: LastBlock | None = None
    walked: int = 0
    known: int = -1
    searches: int = 0

    @staticmethod
    def of(
        part: SegmentGraph,
        follows: Following,
        reach: Reach,
        taking: Taking,
        entries: TakenEntries,
        demands: Demands,
    ) -> Judge:
        """Make room for what is judged."""
        vertices, count = part.graph.row.size, demands.folds.kind.size
        room = new_ways(vertices), new_folding(vertices, count), new_path(part.largest_segment, count)
        return Judge(part, follows, reach, taking, entries, demands, *room)

    def decide(self, progress: TakingProgress) -> Decisions:
        """Judge the next beginnings, from where taking stands."""
        starts, outputs, until = self._collect(progress)
        verdict = self.demands.judge(self.part, outputs, starts.vertex, starts.end)
        is_single = self.reach.is_single[starts.vertex]
        end, way = np.full(starts.key.size, -1), starts.way.copy()
        hopeless = ~verdict.may_end_sooner | (is_single & ~verdict.may_be_shorter)
        if self.taking.shortest:
            # The one that ends last tells only where no other can do.
            left = np.flatnonzero(~hopeless)
        else:
            end[verdict.holds] = starts.end[verdict.holds]
            left = np.flatnonzero(~verdict.holds & ~hopeless)
        walked = self.walked
        end[left], way[left] = self._walk(starts.vertex[left], starts.window[left], is_single[left])
        self.last = LastBlock(starts.key.size, self.walked - walked, progress.skipped)
        some = np.flatnonzero(end >= 0)
        return Decisions(starts.key[some], end[some], way[some], until)

    def _collect(self, progress: TakingProgress) -> tuple[Starts, list[FoldedOutput], int]:
        """The next beginnings, what was folded of the trend of each that ends last, and the key of what comes next."""
        self._adapt(progress.skipped)
        graph, folds = self.part.graph, self.demands.folds
        begins = np.flatnonzero(np.append(True, graph.tick[1:] != graph.tick[:-1])) if graph.tick.size else np.zeros(1)
        most = max(self.at_once, int(np.diff(begins, append=graph.tick.size).max()))
        starts, folded = Starts(*np.empty((5, most), np.int64)), new_folding(folds.kind.size, most)
        place = progress._replace(searches=self.searches)
        found, until, self.known, self.searches = collect_starts(
            graph,
            self.follows,
            self.taking.from_first,
            self.entries,
            self.ways,
            folds,
            self.ahead,
            self.path,
            place,
            self.known,
            most,
            starts,
            folded,
        )
        return Starts(*(part[:found] for part in starts)), read_folded(folds, folded, found), until

    def _adapt(self, skipped: int) -> None:
        """Judge more at once, unless many candidates were walked for beginnings that are taken away."""
        last = self.last
        if last is None:
            return
        costs, in_vain = last.walked > _FIRST_CANDIDATES * last.starts, 2 * (skipped - last.skipped) > last.starts
        at_once = self.at_once // 2 if costs and in_vain else 2 * self.at_once
        self.at_once = min(max(at_once, _FEWEST_STARTS), _MOST_STARTS)

    def _walk(self, vertex: np.ndarray, window: np.ndarray, is_single: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The last vertex and the number of the candidate to take of some beginnings; -1 where none meets the
        conditions."""
        graph, shortest, folds = self.part.graph, self.taking.shortest, self.demands.folds
        end, number, seen = np.full(vertex.size, -1), np.full(vertex.size, -1), np.zeros(vertex.size, np.int64)
        found = Candidates(*np.empty((3, _CANDIDATES if vertex.size else 0), np.int64))
        folded = new_folding(folds.kind.size, found.end.size)
        left = np.arange(vertex.size)
        while left.size:
            came, is_over = np.zeros(left.size, np.int64), np.zeros(left.size, np.bool_)
            walked = Walked(seen[left], np.maximum(3 * seen[left], _FIRST_CANDIDATES), came, is_over)
            count = walk_candidates(
                graph,
                self.follows,
                self.reach,
                vertex[left],
                window[left],
                walked,
                folds,
                self.path,
                found,
                folded,
            )
            self.walked += count
            self.demands.check(self.walked)
            of = found.start[:count]
            outputs = read_folded(folds, folded, count)
            verdict = self.demands.judge(self.part, outputs, vertex[left[of]], found.end[:count])
            chosen = np.flatnonzero(verdict.holds)
            tick = graph.tick[found.end[chosen]]
            # The first of each beginning comes last, and stays.
            order = chosen[np.lexsort((found.number[chosen], tick if shortest else -tick, of[chosen]))][::-1]
            better = np.full(left.size, -1)
            better[of[order]] = order
            some = np.flatnonzero(better >= 0)
            ends, own = found.end[better[some]], left[some]
            is_later = graph.tick[ends] > graph.tick[end[own]]
            is_sooner = graph.tick[ends] < graph.tick[end[own]]
            takes = (end[own] < 0) | (is_sooner if shortest else is_later)
            end[own[takes]], number[own[takes]] = ends[takes], found.number[better[some[takes]]]
            seen[left] += came
            is_over |= is_single[left] & (end[left] >= 0) & shortest
            too_long = np.zeros(left.size, np.bool_)
            too_long[of[~verdict.may_be_longer]] = True
            left = left[~(is_over | (too_long & is_single[left]))]
        return end, number
