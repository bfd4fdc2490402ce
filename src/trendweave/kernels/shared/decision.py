"""When sharing pays, by the work that a burst takes (HAMLET, Section 4, with our costs).

HAMLET counts the events that each event looks back at. Here nothing looks back: in the query basis a row costs some
work per lane (query and window), in the shared basis some work per pair of registers and positions, and every lane
some work once per burst, when what came in is multiplied by the burst's factors. Both are sums over tracks (queries
that read the same rows of the burst), so what is best for each track is best for all.
"""

from trendweave.kernels.compiling import inner

# Manners of bursts: of a single state that only counts, whose rows all members read, or not all; any other.
ANY, PLAIN, PARTED = 0, 1, 2

# Nanoseconds, measured on one core with 10 and 50 queries and bursts of 1 to 400 rows.
BEGIN_PLAIN, BEGIN = 50.0, 180.0  # to begin a track and to end it
ROW_SHARED_PLAIN, ROW_SHARED_PARTED, ROW_SHARED = 2.0, 45.0, 20.0
FACTOR_PER_ROW = 3.0
FLUSH = 20.0
FACTOR_PER_NUMBER = 0.2
PIECE = 3.0
ROW_ALONE_PLAIN, ROW_ALONE_PARTED, ROW_ALONE = 4.5, 20.0, 40.0
NUMBER_PER_ROW_PLAIN, NUMBER_PER_ROW_PARTED, NUMBER_PER_ROW = 0.1, 0.2, 0.3
ROWS_PER_FLUSH = 30.0  # of exact numbers: factors that double with each row stay below 2**32


@inner
def cost_shared(rows, registers, positions, parts, numbers, pieces, manner, flushes):
    """Of a burst's rows for a track with so many numbers (lanes times limbs) in so many pieces."""
    factors = registers * (registers + positions) * (2 * parts - 1)
    once = flushes * (FLUSH + PIECE * pieces * factors + FACTOR_PER_NUMBER * factors * numbers)
    if manner == PLAIN:
        return once + BEGIN_PLAIN + rows * ROW_SHARED_PLAIN
    if manner == PARTED:
        return once + BEGIN + rows * ROW_SHARED_PARTED
    return once + BEGIN + rows * (ROW_SHARED + FACTOR_PER_ROW * factors)


@inner
def cost_alone(rows, registers, positions, parts, numbers, pieces, manner):
    """Of the same rows in the query basis."""
    if manner == PLAIN:
        return rows * (ROW_ALONE_PLAIN + NUMBER_PER_ROW_PLAIN * numbers)
    if manner == PARTED:
        return rows * (ROW_ALONE_PARTED + PIECE * pieces + NUMBER_PER_ROW_PARTED * numbers)
    vectors = (2 * parts - 1) * (1 + registers / positions) / 2
    return rows * (ROW_ALONE + vectors * (PIECE * pieces + NUMBER_PER_ROW * numbers))


@inner
def sharing_pays(rows, registers, positions, parts, numbers, pieces, manner, exact):
    """The decision for one track of one burst."""
    flushes = 1.0 + rows // ROWS_PER_FLUSH if exact else 1.0
    shared = cost_shared(rows, registers, positions, parts, numbers, pieces, manner, flushes)
    return shared < cost_alone(rows, registers, positions, parts, numbers, pieces, manner)
