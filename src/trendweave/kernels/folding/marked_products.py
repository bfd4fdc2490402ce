"""Extrema, and marks of what is no number, of runs of summaries."""

import numpy as np

from trendweave.kernels.compiling import inner
from trendweave.kernels.folding.marked_rows import offer_code
from trendweave.kernels.folding.summaries import KNOWN
from trendweave.kernels.stopping import heed_stop


@inner
def finish_marked(now, then, there, marks, codes, low, high, order, final, out_marks, out_codes):
    """there bool[n, states, lines], marks uint8[n, states, ., lines], codes int64[n, states, extrema, lines]: those of
    the trends of summaries low[entry]:high[entry]. `now` and `then` are room for maps of one line.
    `order`: entries by low, then by high; those with the same low go on from each other."""
    states, lines, extrema = there.shape[1], there.shape[2], codes.shape[2]
    odd = marks.shape[2] - extrema
    reached = np.int64(0)
    for place in range(order.size):
        heed_stop()
        entry = order[place]
        if place == 0 or low[entry] != low[order[place - 1]]:
            reached = low[entry]
            for state in range(states):
                now.there[state, 0] = False
                for m in range(odd + extrema):
                    now.marks[state, m, 0] = 0
        for number in range(reached, high[entry]):
            for state in range(states):
                then.there[state, 0] = there[number, state, lines - 1]
                for m in range(odd + extrema):
                    then.marks[state, m, 0] = marks[number, state, m, lines - 1]
                for x in range(extrema):
                    then.codes[state, x, 0] = codes[number, state, x, lines - 1]
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
            for state in range(states):
                now.there[state, 0] = then.there[state, 0]
                for m in range(odd + extrema):
                    now.marks[state, m, 0] = then.marks[state, m, 0]
                for x in range(extrema):
                    now.codes[state, x, 0] = then.codes[state, x, 0]
        reached = max(reached, high[entry])
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
