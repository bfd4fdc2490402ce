"""SAMPLE where entries have too many trends to pick from: trends drawn at random, each set equally likely."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np

from trendweave.kernels.lists.sample import WindowSampler, make_sampler
from trendweave.kernels.lists.walk import new_walk
from trendweave.programs.trends.choice import Share
from trendweave.programs.trends.counting import CountedTrends, WindowEntries
from trendweave.programs.trends.graphs import SegmentGraph
from trendweave.programs.trends.walking import VERTICES_AT_ONCE, FoundTrends


def name_seeds(counted: CountedTrends, seed: int) -> list[str]:
    """Write a text per entry that depends on the seed, the window and the group, and on nothing else."""
    keys = counted.windows.keys(counted.entries.window).tolist()
    columns = [column.to_pylist() for column in counted.group_columns]
    return [
        f"{seed}|{key}|{[repr(column[group]) for column in columns]}"
        for key, group in zip(keys, counted.entries.group.tolist(), strict=True)
    ]


def draw_trends(
    part: SegmentGraph, entries: WindowEntries, share: Share, seeds: Sequence[str], mode: int
) -> Iterator[FoundTrends]:
    """Draw as many trends of each entry of a graph as its share says.

    Args:
        part: The graph.
        entries: The entries of all graphs.
        share: How many are drawn of each entry.
        seeds: A text per entry, from which its random numbers come.
        mode: ALL or COMPLETE.

    Yields:
        Different trends of one entry at a time.
    """
    inside = entries.find_segments(part.first, part.end)
    for entry in inside[share.drawn[inside] > 0]:
        segment = int(entries.segment[entry])
        window = int(entries.window[entry])
        sampler = make_sampler(part.graph, part.steps, segment - part.first, window, mode, new_walk(part.graph))
        source = _open_source(f"{seeds[entry]}|{segment}")
        for trends in _draw_different(sampler, source, int(share.drawn[entry])):
            yield FoundTrends(trends.vertices, trends.starts, np.full(trends.entry.size, entry))


def _open_source(seed: str) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(int.from_bytes(hashlib.sha256(seed.encode()).digest()[:16], "little")))


def _draw_different(sampler: WindowSampler, source: np.random.Generator, missing: int) -> Iterator[FoundTrends]:
    """One that was drawn before is drawn anew, so all sets are equally likely."""
    seen: set[bytes] = set()
    while missing:
        keys = source.integers(0, 2**64, missing, np.uint64)
        for starts, vertices in sampler.draws(keys, VERTICES_AT_ONCE):
            new = []
            for trend in range(starts.size - 1):
                digest = hashlib.blake2b(vertices[starts[trend] : starts[trend + 1]].data, digest_size=16).digest()
                if digest not in seen:
                    seen.add(digest)
                    new.append(trend)
            missing -= len(new)
            trends = FoundTrends(vertices, starts.copy(), np.zeros(starts.size - 1, np.int64))
            yield trends.take(np.array(new, np.int64))
