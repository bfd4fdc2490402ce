"""Predicates on two rows that are no comparison of two columns: looked up in a table of answers, O(1) per pair.

Where GRETA evaluates an edge predicate anew for each edge, here it was decided once per pair of different values."""

from trendweave.kernels.compiling import inner

# columns of Program.pairs
PREVIOUS, NEXT, PLACE, WIDTH = range(4)


@inner
def pair_holds(pairs, pair, answers, codes, previous, following):
    """Whether the pair test holds for rows (previous, following)."""
    line = pairs[pair, PLACE] + codes[pairs[pair, PREVIOUS], previous] * pairs[pair, WIDTH]
    return answers[line + codes[pairs[pair, NEXT], following]] != 0
