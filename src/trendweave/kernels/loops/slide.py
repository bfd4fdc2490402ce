"""The writer of `slide`, for windows that overlap: a queue of two stacks gives all windows without multiplying any.

`slide` is for windows that overlap. Rows are sparse matrices, so a window is a product of them, and a queue of two
stacks gives all windows without multiplying any: the newer rows are one matrix `newer` to which a row is appended, the
older ones are row vectors `older`, one per row: what the rows from there to the turning point make of an empty past. A
row is appended once and prepended at most once, whatever the overlap; a window costs one dot product.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from trendweave.kernels.aggregates.blocks import Blocks
from trendweave.kernels.inputs import Rows
from trendweave.kernels.loops.fold import CHECKED_BITS, FoldShape
from trendweave.kernels.loops.matrices import Matrices, fold_arguments
from trendweave.kernels.loops.run import run_loop
from trendweave.kernels.loops.text import write_loop


@lru_cache(maxsize=256)
def write_slide(shape: FoldShape) -> tuple[str, tuple[str, ...]]:
    """The text of `slide`, and the names of what it takes.

    Matrices have, per component, a line of `size` numbers for each state and for the empty past. `newer` is stored by
    states after: newer[q] says in which ways each state before (the last one is the empty past) leads to q. `matrix` is
    stored by states before.
    """
    return _Slide(shape).write()


class _Slide(Matrices):
    """The writer of the loop over windows."""

    def write(self) -> tuple[str, tuple[str, ...]]:
        text = self.text
        text.put("n = len(tick)", "middle = 0", "end = 0", "older_from = 0", "bad_before = -1", "seen = 0")
        with text.block("for b in range(len(row_start))"):
            text.put("begin = row_start[b]", "stop = row_end[b]")
            with text.block("if b == 0 or segment[b] != segment[b - 1]"):
                text.put("middle = begin", "end = begin", "seen = 0")
                self.identity("newer")
            with text.block("for lane in range(windows[b])"):
                text.put("heed_stop()", "window = first_window[b] + lane")
                with text.block("while begin < stop and window_last[begin] < window"):
                    text.put("begin += 1")
                text.put("reach = max(end, begin)")
                with text.block("while reach < stop and window_first[reach] <= window"):
                    text.put("reach += 1")
                with text.block("if begin > middle"):
                    self.prepend()
                with text.block("else"):
                    self.append()
                text.put("end = reach", "out = offset[b] + lane")
                self.result()
        return write_loop("slide", text)

    def prepend_row(self, q: str, matrix: str) -> None:
        """What a row, read as a state, adds in front of a matrix, to the ways to one state after."""
        for part, amount in enumerate("x" + "y" * len(self.shape.counted)):
            self.text.put(f"{amount} = {matrix}[{self.line(part, q)} + i]")
            if part:
                self.product(q, part)
                self.watch(amount, part)
            for source in self.sources(q):
                self.change(matrix, part, source, amount)

    def append(self) -> None:
        """The rows from `end` to `reach` behind `newer`."""
        self.text.put("row = end")
        with self.text.block("while row < reach"):
            last = "row + 1 == reach or tick[row + 1] != now"
            self.tick(self.append_row, "newer", "row < reach", "row += 1", last)

    def prepend(self) -> None:
        """All rows become old: from the last to the first in front of `matrix`, whose line of the empty past is kept
        where a window may begin."""
        text, size, parts = self.text, self.shape.lines, self.shape.components
        self.identity("matrix")
        text.put("bad_before = -1", "row = reach - 1", "seen = 0")
        with text.block("while row >= begin"):
            last = "row == begin or tick[row - 1] != now"
            self.tick(self.prepend_row, "matrix", "row >= begin", "row -= 1", last)
            if self.shape.is_checked:
                with text.block(f"if bad_before < 0 and seen >> {CHECKED_BITS} != 0"):
                    text.put("bad_before = row + 1")
            with text.block("if row < begin or window_last[row] != window_last[row + 1]"):
                text.put(f"at = (row + 1 - begin) * {parts * size}")
                for part in range(parts):
                    with text.block(f"for i in range({size})"):
                        come = self.line(part, str(self.shape.past))
                        text.put(f"older[at + {part * size} + i] = matrix[{come} + i]")
        text.put("older_from = begin", "middle = reach", "seen = 0")
        self.identity("newer")

    def result(self) -> None:
        """A window's totals: of new rows alone, or of old ones followed by new ones."""
        text, size, parts = self.text, self.shape.lines, self.shape.components
        checked = self.shape.is_checked
        text.put(*(f"total{part} = {self.zero}" for part in range(parts)))
        with text.block("if begin >= middle"):
            for final in self.finals():
                for part in range(parts):
                    text.put(f"total{part} += newer[{self.line(part, final)} + {self.shape.past}]")
            if checked:
                text.put(f"fits[out] = seen >> {CHECKED_BITS} == 0")
        with text.block("else"):
            text.put(f"at = (begin - older_from) * {parts * size}", "bound = 0.0")
            for final in self.finals():
                with text.block(f"for i in range({size})"):
                    text.put("left = older[at + i]", f"right = newer[{self.line(0, final)} + i]")
                    self.multiply("left", "right", "total0")
                    for part in range(1, parts):
                        text.put(f"more = newer[{self.line(part, final)} + i]")
                        self.multiply("left", "more", f"total{part}")
                        text.put(f"more = older[at + {part * size} + i]")
                        self.multiply("more", "right", f"total{part}")
            if checked:
                text.put(
                    f"fits[out] = seen >> {CHECKED_BITS} == 0 and bound < 2.0**{CHECKED_BITS} and begin > bad_before"
                )
        with text.block_if("fits[out]" if checked else None):
            for part in range(parts):
                text.put(f"results[out * {parts} + {part}] = total{part}" if parts > 1 else "results[out] = total0")


def run_slide(
    shape: FoldShape, blocks: Blocks, rows: Rows, values: np.ndarray, results: np.ndarray, interpreted: bool
) -> np.ndarray:
    """Totals of all windows of blocks, into `results`; whether each fits."""
    fits = np.ones(len(results), np.bool_)
    text, takes = write_slide(shape)
    numbers = (shape.past + 1) * shape.components
    longest = int((blocks.row_end - blocks.row_start).max())
    given = fold_arguments(shape, rows, (blocks.row_start, blocks.row_end), values) | {
        "segment": blocks.segment, "first_window": blocks.window, "windows": blocks.lanes, "offset": blocks.offset,
        "window_first": rows.window_first, "window_last": rows.window_last,
        **{name: np.zeros(2 * numbers * (shape.past + 1), results.dtype) for name in ("newer", "matrix")},
        "older": np.zeros(longest * numbers, results.dtype), "results": results.reshape(-1), "fits": fits,
    }  # fmt: skip
    run_loop("slide", text, takes, given, interpreted)
    return fits
