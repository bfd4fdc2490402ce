"""Where the numbers of a class begin: vectors [register or position, part, limb, lane]."""

from trendweave.kernels.compiling import inlined
from trendweave.kernels.shared.book import (
    FACTOR_SIZE,
    FACTORS,
    OUTSIDE,
    PARTS,
    PENDING,
    POSITION_BASE,
    REGISTER_BASE,
    ROOM,
    TOTAL,
)


@inlined
def total_place(book, c):
    return book[TOTAL] + book[book[REGISTER_BASE] + c] * book[PARTS] * book[ROOM]


@inlined
def outside_place(book, c):
    return book[OUTSIDE] + book[book[POSITION_BASE] + c] * book[PARTS] * book[ROOM]


@inlined
def pending_place(book, c):
    return book[PENDING] + book[book[POSITION_BASE] + c] * book[PARTS] * book[ROOM]


@inlined
def factor_place(book, track):
    return book[FACTORS] + track * book[FACTOR_SIZE]
