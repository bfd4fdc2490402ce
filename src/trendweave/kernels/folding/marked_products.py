"""Extrema, and marks of what is no number, of runs of summaries."""

import numpy as np

from trendweave.kernels.compiling import outer
from trendweave.kernels.folding.marked_rows import Marked, offer_code
from trendweave.kernels.folding.summaries import KNOWN


@outer
def finish_marked(there, marks, codes, low, high, final, out_marks, out_codes):
    """there bool[n, states, lines], marks uint8[n, states, ., lines], codes int64[n, states, extrema, lines]: those of
    the trends of summaries low[entry]:high[entry]."""
    states, lines, extrema = there.shape[1], there.shape[2], codes.shape[2]
    odd = marks.shape[2] - extrema
    now = Marked(np.zeros((states, 1), np.bool_), np.zeros((states, odd + extrema, 1), np.uint8),
                 np.zeros((states, extrema, 1), np.int64))  # fmt: skip
    then = Marked(np.zeros((states, 1), np.bool_), np.zeros((states, odd + extrema, 1), np.uint8),
                  np.zeros((states, extrema, 1), np.int64))  # fmt: skip
    for entry in range(low.size):
        now.there[:] = False
        now.marks[:] = 0
        for number in range(low[entry], high[entry]):
            for state in range(states):
                then.there[state, 0] = there[number, state, lines - 1]
                then.marks[state, :, 0] = marks[number, state, :, lines - 1]
                then.codes[state, :, 0] = codes[number, state, :, lines - 1]
                for before in range(states if number > low[entry] else 0):
                    if not now.there[before, 0] or not there[number, state, before]:
                        continue
                    then.there[state, 0] = True
                    for m in range(odd):
                        then.marks[state, m, 0] |= now.marks[before, m, 0] | marks[number, state, m, before]
                    for x in range(extrema):
                        if now.marks[before, odd + x, 0] & KNOWN:
                            offer_code(then.marks, then.codes, state, odd, x, 0, now.codes[before, x, 0])
                        if marks[number, state, odd + x, before] & KNOWN:
                            offer_code(then.marks, then.codes, state, odd, x, 0, codes[number, state, x, before])
            now.there[:] = then.there
            now.marks[:] = then.marks
            now.codes[:] = then.codes
        for f in range(final.size):
            state = final[f]
            for m in range(odd):
                out_marks[entry, m] |= now.marks[state, m, 0]
            for x in range(extrema):
                if now.marks[state, odd + x, 0] & KNOWN and (
                    not out_marks[entry, odd + x] & KNOWN or now.codes[state, x, 0] > out_codes[entry, x]
                ):
                    out_codes[entry, x] = now.codes[state, x, 0]
                    out_marks[entry, odd + x] |= KNOWN
