"""Blocks of a join on all cores of this process: compiled loops, NumPy and Arrow let other threads work."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import TypeVar

from trendweave.devices.cores import count_cores
from trendweave.devices.pool import Pool, is_in_pool
from trendweave.programs.operators.joins.blocks import Block, Cutting

_Made = TypeVar("_Made")
_Given = TypeVar("_Given")

#: Blocks per core: what one core has left over another one takes.
_BLOCKS_PER_CORE = 2
#: So many candidates are worth a block.
_BLOCK_CANDIDATES = 2_000_000
#: So many candidates are not worth to be dealt out.
_FEW = 1_000_000


def count_threads(candidates: int) -> int:
    """How many threads look at candidates: one where more are not worth it, or this one is one of several."""
    return 1 if candidates < _FEW or is_in_pool() else count_cores()


def count_blocks(threads: int, candidates: int) -> int:
    """How many blocks there are at least: Python does something for each, one after the other."""
    return max(1, min(threads * _BLOCKS_PER_CORE, candidates // _BLOCK_CANDIDATES)) if threads > 1 else 1


def map_in_threads(function: Callable[[_Given], _Made], given: list[_Given], threads: int) -> list[_Made]:
    """What a function makes of some things."""
    if threads == 1:
        return [function(one) for one in given]
    with Pool(threads) as pool:
        return list(pool.map(function, given))


def compute_blocks(
    work: Callable[[Block], tuple[int, _Made] | None], cutting: Cutting, threads: int
) -> Iterator[_Made]:
    """What is made of blocks, in their order.

    Args:
        work: Makes something of a block and tells the number of its pairs; None where they are too many.
        cutting: Cuts blocks.
        threads: How many are worked on at the same time.
    """
    first = 0
    if threads == 1:
        while first < cutting.size:
            block = cutting.cut(first)
            done = work(block)
            if done is None:
                cutting.shrink(block)
                continue
            cutting.learn(block, done[0])
            first = block.last
            yield done[1]
        return
    pool = Pool(threads)
    waiting = deque[tuple[Block, Future[tuple[int, _Made] | None]]]()
    try:
        while first < cutting.size or waiting:
            while first < cutting.size and len(waiting) <= threads:
                block = cutting.cut(first)
                waiting.append((block, pool.submit(work, block)))
                first = block.last
            block, future = waiting.popleft()
            done = future.result()
            if done is None:
                for _, later in waiting:
                    later.cancel()
                waiting.clear()
                cutting.shrink(block)
                first = block.first
                continue
            cutting.learn(block, done[0])
            yield done[1]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
