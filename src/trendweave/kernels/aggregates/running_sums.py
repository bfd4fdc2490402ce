"""No comparison on the transition: one running sum per source state, O(1) per event (A-Seq, Section 3.1).

With a guard (a NOT between the two events) predecessors before a threshold are out for good, and thresholds never fall.
The sum over those that remain is then kept as a queue of two stacks: suffix sums of the older part and one sum of the
newer part. Nothing is ever subtracted, so it serves floats and extrema as well as integers.
"""

import numpy as np

from trendweave.kernels.aggregates.vectors import clear, combine
from trendweave.kernels.compiling import inner


@inner
def push(vectors, at, position, newer, newer_at, vector, vector_at, low, high, lanes, components, width, kind):
    """Append one vector at `position` of the list at `at` and add it to the newer part."""
    clear(vectors, at + position * width, width, kind)
    combine(vectors, at + position * width, vector, vector_at, low, high, lanes, components, kind)
    combine(newer, newer_at, vector, vector_at, low, high, lanes, components, kind)


@inner
def turn_over(vectors, at, head, tail, newer, newer_at, lanes, components, width, kind):
    """Make suffix sums of everything in [head, tail); the newer part becomes empty."""
    for position in range(tail - 2, head - 1, -1):
        this = at + position * width
        combine(vectors, this, vectors, this + width, np.int64(0), lanes, lanes, components, kind)
    clear(newer, newer_at, width, kind)
