"""The windows in which a trend may begin or end with a row: NOT at the edge of a pattern, and windows that stand at one
event of their trends."""

from __future__ import annotations

import numpy as np

from trendweave.kernels import NO_MATCH
from trendweave.programs.trends.kernel_inputs import NO_LATER_MATCH, KernelInputs, Piece
from trendweave.rows.windows import NO_WINDOW, TrendNumbers, WindowNumbers


def guard_starts(
    inputs: KernelInputs, piece: Piece, windows: WindowNumbers, tick: np.ndarray, group: np.ndarray
) -> dict[int, np.ndarray]:
    """Leading NOT: a trend begins only in windows that begin after the last match that ended before its first event.
    Rows that are copied into lanes begin trends with one of their copies.

    In windows that stand at first events, trends begin only there. Where such a window ends says nothing about the
    leading NOT, which is asked of each trend instead (`EachOnce`).

    Args:
        inputs: Knows where negated patterns match.
        piece: The trends that are looked for.
        windows: How windows are numbered.
        tick: The tick of each row of the piece.
        group: The group of each row, where windows depend on it.

    Returns:
        Per state with a guard, the first window in which a trend may begin with each row.
    """
    guards = {}
    for start in piece.template.starts:
        if isinstance(windows, TrendNumbers) and windows.from_first:
            own = windows.own[tick]
            guards[start.state] = np.where(own < 0, NO_WINDOW, own)
            continue
        threshold = inputs.latest_start(start.guard)
        if threshold is not None:
            latest = threshold[tick]
            holding = windows.last(np.maximum(latest, 0), group)
            guards[start.state] = np.where(latest == NO_MATCH, windows.first(tick, group), holding + 1)
        closed = inputs.latest_start(start.closed)
        if closed is not None:
            # Each window is looked at by itself: where nothing is in the way, no trend begins.
            begins = guards.get(start.state, windows.first(tick, group))
            guards[start.state] = np.where(closed[tick] == NO_MATCH, windows.last(tick, group) + 1, begins)
    for state, beyond in inputs.lane_starts(piece).items():
        # A copy that remembers an earlier event is no beginning, in any window.
        first, last = guards.get(state, windows.first(tick, group)), windows.last(tick, group)
        guards[state] = np.where(beyond, last + 1, first)
    return guards


def guard_ends(
    inputs: KernelInputs,
    piece: Piece,
    windows: WindowNumbers,
    tick: np.ndarray,
    group: np.ndarray,
    only_ending_at: np.ndarray | None = None,
) -> dict[int, np.ndarray]:
    """Trailing NOT: a trend ends only in windows that end before the first match that begins after its last event. In
    windows that stand at last events, trends end only there.

    Args:
        inputs: Knows where negated patterns match.
        piece: The trends that are looked for.
        windows: How windows are numbered.
        tick: The tick of each row of the piece.
        group: The group of each row, where windows depend on it.
        only_ending_at: Per row, the last window in which a trend may end with it whatever the pattern says.

    Returns:
        Per state with a guard, the last window in which a trend may end with each row.
    """
    guards = {}
    if isinstance(windows, TrendNumbers) and not windows.from_first:
        own = windows.own[tick]
        return {end.state: own for end in piece.template.ends}
    for end in piece.template.ends:
        threshold = inputs.earliest_end(end.guard)
        if threshold is not None:
            earliest = threshold[tick]
            holding = windows.first(np.where(earliest == NO_LATER_MATCH, 0, earliest), group)
            guards[end.state] = np.where(earliest == NO_LATER_MATCH, windows.last(tick, group), holding - 1)
        if only_ending_at is not None:
            guards[end.state] = np.minimum(guards.get(end.state, only_ending_at), only_ending_at)
    return guards
