"""Where links are found first: on a card that is asked for, and in this process where it saves much."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from trendweave.gpu.card import find_card, memory_told, refuse_work
from trendweave.gpu.matching.links import CardLinks
from trendweave.programs.trends.aggregates import PartitionTask
from trendweave.programs.trends.counting import Layout, WindowEntries
from trendweave.programs.trends.graphs import SegmentGraphs
from trendweave.programs.trends.linked.counting import NotLinkedError, count_linked
from trendweave.programs.trends.linked.in_process import CompiledLinks
from trendweave.programs.trends.linked.served import why_not_linked
from trendweave.rows.trend_windows import TrendNumbers

_LOG = logging.getLogger("trendweave")
#: Events and windows, or pairs of values, from which on links are found first.
MANY_PAIRS = 1 << 25


@contextmanager
def always_linking() -> Iterator[None]:
    """Inside, links are found first wherever that can be, also among few events: for comparisons of devices."""
    global MANY_PAIRS
    before, MANY_PAIRS = MANY_PAIRS, -1
    try:
        yield
    finally:
        MANY_PAIRS = before


def link_trends(
    task: PartitionTask, layout: Layout, memory: int, entries: WindowEntries | None = None
) -> SegmentGraphs | None:
    """Link the events of a task where that is asked for or pays.

    Args:
        task: Whose trends are to be listed.
        layout: Of its rows.
        memory: For the graph of links.
        entries: The windows to look into, where trends are not counted.

    Returns:
        The graphs, with the trends counted; None where trends are to be counted and linked as they are found.

    Raises:
        ExecutionError: TW422 where a card is asked for and does not serve this, TW423 where its memory is too small.
    """
    reason = why_not_linked(task.plan)
    if task.options.device == "gpu":
        if reason is not None:
            refuse_work(f"{reason} is not served on a GPU")
        card = find_card()
        try:
            with memory_told(card):
                return count_linked(task, layout, memory, CardLinks(card), entries)
        except NotLinkedError as error:
            refuse_work(f"{error} is not served on a GPU")
    if reason is not None or not _pays(task, layout, entries is None):
        return None
    try:
        return count_linked(task, layout, memory, CompiledLinks(), entries)
    except NotLinkedError as error:
        _LOG.info("edges are not precomputed: %s", error)
        return None


def _pays(task: PartitionTask, layout: Layout, counts: bool) -> bool:
    """Whether links save much more than it takes to compile a loop for them.

    Otherwise a window of its own for each event is counted by itself, where trends are counted, and a condition that is
    no comparison is decided for all pairs of values.
    """
    pairs = 0
    for piece in layout.pieces:
        tick = piece.segments.take(task.rows.tick)
        if counts and isinstance(layout.windows, TrendNumbers):
            windows = layout.windows.lasts[tick] - layout.windows.firsts[tick] + 1
            pairs += int(np.maximum(windows, 0).sum())
        if any(edge.general for edge in task.inputs.edges_of(piece.template)):
            pairs += tick.size**2
    return pairs > MANY_PAIRS
