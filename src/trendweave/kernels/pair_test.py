"""Predicates on two rows that are no comparison of two columns: looked up in a table of what is known."""

from .compiling import inner

# columns of Program.pairs
PREVIOUS, NEXT, PLACE, WIDTH = range(4)


@inner
def pair_holds(pairs, begin, end, answers, codes, previous, following):
    """Whether all of pairs [begin, end) hold for rows (previous, following)."""
    for i in range(begin, end):
        row = codes[pairs[i, PREVIOUS], previous]
        if answers[pairs[i, PLACE] + row * pairs[i, WIDTH] + codes[pairs[i, NEXT], following]] == 0:
            return False
    return True
