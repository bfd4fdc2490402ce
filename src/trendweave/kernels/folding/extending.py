"""`extend`: rows behind summaries. One word per number first; segments that need more go on with several."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from trendweave.kernels.aggregates.passes import normalise_rows
from trendweave.kernels.aggregates.state_steps import StateSteps
from trendweave.kernels.columns import make_writable
from trendweave.kernels.folding.algebra import Algebra
from trendweave.kernels.folding.blockers import Resets, build_steps_with_resets
from trendweave.kernels.folding.marked_rows import extend_marked, make_marked
from trendweave.kernels.folding.plain_rows import extend_plain
from trendweave.kernels.folding.row_values import LinearValues, MarkedValues, prepare_values
from trendweave.kernels.folding.summaries import Summaries, put_runs
from trendweave.kernels.folding.wide_rows import extend_wide, make_wide_work
from trendweave.kernels.inputs import Aggregate, Rows

FIRST_ROOM = 4  # words per number that work space is made for at first
SKIPPED = -2
Steps: TypeAlias = tuple[StateSteps, Resets]


def extend(
    algebra: Algebra, earlier: Summaries, which: np.ndarray, rows: Rows, aggregates: Sequence[Aggregate]
) -> Summaries:
    """One summary per segment of the rows: of those that the earlier one with the number `which[segment]` sums up (-1:
    of none), followed by the segment's rows.

    Rows of a segment are sorted by tick, and none has a tick of rows that were added before. Rows that are in no window
    are left out.
    """
    rows, which = normalise_rows(rows), make_writable(np.ascontiguousarray(which, np.int64))
    if rows.segment_starts.size != which.size + 1:
        raise ValueError(f"{which.size} earlier summaries for {rows.segment_starts.size - 1} segments")
    if len(aggregates) != len(algebra.measures):
        raise ValueError(f"{len(aggregates)} aggregates for {len(algebra.measures)} measures")
    steps, resets = build_steps_with_resets(algebra.template, algebra.resets)
    linear, marked = prepare_values(algebra, aggregates, rows.tick.size)
    width, numbers, exponents = extend_numbers(algebra, (steps, resets), earlier, which, rows, linear)
    codes, marks = extend_marks(algebra, (steps, resets), earlier, which, rows, marked)
    return Summaries(width, numbers, exponents, codes, marks)


def extend_numbers(
    algebra: Algebra, steps: Steps, earlier: Summaries, which: np.ndarray, rows: Rows, linear: LinearValues
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(width, numbers, exponents)."""
    count, cells = which.size, algebra.cells
    old = which >= 0
    place = np.full(count, -1, np.int64)
    place[old] = earlier.starts()[which[old]]
    old_width = np.ones(count, np.int64)
    old_width[old] = earlier.width[which[old]]
    before = make_writable(earlier.numbers)
    small = np.empty((count, cells), before.dtype)
    fits = np.zeros(count, np.bool_)
    if not algebra.float_sums:
        checked = True if algebra.exact else None
        here = np.where(old_width > 1, SKIPPED, place)
        extend_plain(*steps, rows, linear, before, here, small, fits, algebra.lines, checked)
    exponents = np.zeros((count, len(algebra.float_sums)), np.int64)
    if fits.all():
        return np.ones(count, np.int64), small.reshape(-1), exponents
    old_exponents = np.zeros((count, len(algebra.float_sums)), np.int64)
    old_exponents[old] = earlier.exponents[which[old]]
    chosen = np.flatnonzero(~fits)
    widths, wide = go_on_wide(
        algebra, steps, rows, linear, (before, place, old_width, old_exponents), chosen, exponents
    )
    if chosen.size == count:
        return widths, wide, exponents
    width = np.ones(count, np.int64)
    width[chosen] = widths
    ends = np.cumsum(width) * cells
    numbers = np.empty(int(ends[-1]), np.int64)
    starts = ends - width * cells
    numbers[starts[fits][:, None] + np.arange(cells)] = small[fits]
    put_runs(numbers, starts[chosen], width[chosen] * cells, wide)
    return width, numbers, exponents


def go_on_wide(
    algebra: Algebra, steps: Steps, rows: Rows, linear: LinearValues, old: tuple, chosen: np.ndarray,
    exponents: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Widths and numbers of the chosen segments, in turns: whenever one needs more room than there is, room grows."""
    before, place, old_width, old_exponents = old
    float_of = np.cumsum(linear.floats) - 1
    widths = np.zeros(chosen.size, np.int64)
    room = int(max(FIRST_ROOM, old_width[chosen].max() + 1))
    parts: list[np.ndarray] = []
    done, length = 0, int(old_width[chosen].sum() + 2 * chosen.size) * algebra.cells
    while done < chosen.size:
        out = np.empty(length, np.uint64)
        work = make_wide_work(steps[0], algebra.cells, algebra.parts, room)
        reached, used = extend_wide(
            *steps, rows, linear, work, before.view(np.uint64), place, old_width, old_exponents, chosen, done, room,
            algebra.lines, out, widths, exponents, float_of,
        )  # fmt: skip
        parts.append(out[:used].view(np.int64))
        if reached == done:
            room *= 2
        done = int(reached)
        length = max(room * algebra.cells, length // 2)
    return widths, parts[0] if len(parts) == 1 else np.concatenate(parts)


def extend_marks(
    algebra: Algebra, steps: Steps, earlier: Summaries, which: np.ndarray, rows: Rows, marked: MarkedValues
) -> tuple[np.ndarray, np.ndarray]:
    """(codes, marks)."""
    count = which.size
    codes, marks = np.zeros((count, algebra.codes), np.int64), np.zeros((count, algebra.marks), np.uint8)
    nothing_odd = not algebra.extrema and not marked.marks.any() and not earlier.marks.any()
    if not algebra.marks or nothing_odd:
        return codes, marks
    states, lines = algebra.states, algebra.lines
    shape, extrema = (states, algebra.marks // (states * lines), lines), (states, len(algebra.extrema), lines)
    work = make_marked(states + 1, shape[1], len(algebra.extrema), lines)
    change = make_marked(states + 1, shape[1], len(algebra.extrema), lines)
    extend_marked(
        *steps, rows, marked, work, change, ways_there(algebra, earlier), which,
        make_writable(earlier.marks).reshape(earlier.size, *shape),
        make_writable(earlier.codes).reshape(earlier.size, *extrema),
        marks.reshape(count, *shape), codes.reshape(count, *extrema),
    )  # fmt: skip
    return codes, marks


def ways_there(algebra: Algebra, summaries: Summaries) -> np.ndarray:
    """bool[n, states, lines]: whether there is a way."""
    shape = (summaries.size, algebra.states, algebra.parts, algebra.lines)
    if algebra.exact and (summaries.width != 1).any():
        starts = summaries.starts()[:-1]
        cells = np.arange(algebra.cells)
        firsts = starts[:, None] + cells * summaries.width[:, None]
        there = np.add.reduceat(summaries.numbers != 0, firsts.reshape(-1)) > 0
        return there.reshape(shape)[:, :, 0].copy()
    return (summaries.numbers.reshape(shape)[:, :, 0] != 0).copy()
