"""NOT at the edge of a pattern: the windows in which a trend may begin or end with a row."""

from __future__ import annotations

import numpy as np

from trendweave.kernels import NO_MATCH
from trendweave.programs.trends.kernel_inputs import NO_LATER_MATCH, KernelInputs, Piece
from trendweave.rows.windows import WindowNumbers


def guard_starts(
    inputs: KernelInputs, piece: Piece, windows: WindowNumbers, tick: np.ndarray, group: np.ndarray
) -> dict[int, np.ndarray]:
    """Leading NOT: a trend begins only in windows that begin after the last match that ended before its first event.

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
        threshold = inputs.latest_start(start.guard)
        if threshold is not None:
            latest = threshold[tick]
            holding = windows.last(np.maximum(latest, 0), group)
            guards[start.state] = np.where(latest == NO_MATCH, windows.first(tick, group), holding + 1)
    return guards


def guard_ends(
    inputs: KernelInputs,
    piece: Piece,
    windows: WindowNumbers,
    tick: np.ndarray,
    group: np.ndarray,
    only_ending_at: np.ndarray | None = None,
) -> dict[int, np.ndarray]:
    """Trailing NOT: a trend ends only in windows that end before the first match that begins after its last event.

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
    for end in piece.template.ends:
        threshold = inputs.earliest_end(end.guard)
        if threshold is not None:
            earliest = threshold[tick]
            holding = windows.first(np.where(earliest == NO_LATER_MATCH, 0, earliest), group)
            guards[end.state] = np.where(earliest == NO_LATER_MATCH, windows.last(tick, group), holding - 1)
        if only_ending_at is not None:
            guards[end.state] = np.minimum(guards.get(end.state, only_ending_at), only_ending_at)
    return guards
