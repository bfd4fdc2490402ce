"""What the kernel works in: the book, bounds, numbers and room for results."""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.shared import book as names
from trendweave.kernels.shared.patterns import Patterns
from trendweave.kernels.shared.plan import Classes, Lists


class KernelRows(NamedTuple):
    """The rows: number of the `pattern` of letters, whether there is a `border` of windows before, `values`
    [measures, n]."""

    segment_starts: np.ndarray
    tick: np.ndarray
    pattern: np.ndarray
    border: np.ndarray
    window_first: np.ndarray
    window_last: np.ndarray
    values: np.ndarray


class How(NamedTuple):
    """How to work: numbers per lane, limbs that there is room for, kind of numbers, when to share."""

    parts: int
    room: int
    kind: int
    sharing: int


class Work(NamedTuple):
    book: np.ndarray
    bounds: np.ndarray
    numbers: np.ndarray


def sizes_of_numbers(classes: Classes, how: How) -> dict[int, int]:
    """How long each part of `numbers` is."""
    unit, bundles = how.parts * how.room, most_bundles(classes)
    width = classes.registers + classes.positions
    factors = how.parts * int((classes.registers * width).max(initial=2))
    return {
        names.TOTAL: int(classes.register_base[-1]) * unit,
        names.OUTSIDE: int(classes.position_base[-1]) * unit,
        names.PENDING: int(classes.position_base[-1]) * unit,
        names.SCRATCH: int((classes.registers * classes.lanes).max(initial=1)) * unit,
        names.FACTORS: bundles * factors,
        names.FRESH_FACTORS: how.parts * int(width.max(initial=2)),
        names.PENDING_FACTORS: how.parts * int((classes.positions * width).max(initial=2)),
    }


def most_bundles(classes: Classes) -> int:
    return int(np.diff(classes.bundle_from).max(initial=1))


def make_work(
    classes: Classes, lists: Lists, patterns: Patterns, marks: np.ndarray, how: How, number: type, empty: int
) -> Work:
    """A workspace with nothing in it; `empty` is what adds nothing."""
    count, bundles = classes.lanes.size, most_bundles(classes)
    sizes = sizes_of_numbers(classes, how)
    ends = np.cumsum([0, *sizes.values()]).tolist()
    single = dict(zip(sizes, ends[:-1], strict=True))
    single |= {
        names.PARTS: how.parts, names.ROOM: how.room, names.KIND: how.kind, names.SHARING: how.sharing,
        names.CLASSES: count, names.QUERIES: lists.query_window.size, names.KINDS: lists.slots.size,
        names.BUNDLES: lists.bundle_first.size, names.FACTOR_SIZE: sizes[names.FACTORS] // bundles,
        names.BOUND: 0, names.OUTSIDE_BOUND: 2 * count, names.SIZE: 4 * count,
        names.PENDING_BOUND: 4 * count + 2 * bundles,
    }  # fmt: skip
    tables = {getattr(names, name.upper()): table for name, table in classes._asdict().items()}
    tables |= {getattr(names, name.upper()): table for name, table in lists._asdict().items() if name[:5] != "marks"}
    tables |= {getattr(names, name.upper()): table for name, table in patterns._asdict().items()}
    tables |= {names.MARKS: marks}
    tables |= {
        name: np.zeros(count, np.int64)
        for name in (
            names.CHANGED, names.IS_TOUCHED, names.TOUCHED_LIST, names.IN_BURST, names.BURST_ROWS, names.DIFFERS_NOW,
            names.ACTIVE_LIST,
        )
    }  # fmt: skip
    tables |= {name: np.ones(count, np.int64) for name in (names.LIMBS, names.OUTSIDE_LIMBS)}
    tables |= {name: np.full(count, -1) for name in (names.GATHERED, names.LAST_SHARED)}
    tables |= {names.QUERY_SEEN: np.full(lists.query_window.size, -1)}
    tables |= {name: np.zeros(lists.slots.size, np.int64) for name in (names.OPEN_FIRST, names.OPEN_LAST)}
    tables |= {name: np.zeros(bundles, np.int64) for name in range(names.LEAF, names.HEADER)}
    return Work(
        names.make_book(single, tables),
        np.zeros(4 * count + 2 * bundles + 2),
        np.full(ends[-1], empty, number),
    )
