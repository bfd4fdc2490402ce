"""Rows folded in pieces onto summaries against all rows at once: in every tier, with numbers of every kind."""

from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import examples
from trendweave.kernels import Aggregate, Rows, Template, aggregate
from trendweave.kernels.aggregates.exact_numbers import average_floats
from trendweave.kernels.loops import fold, plan, run
from trendweave.kernels.loops.fold import write_apply, write_fold
from trendweave.kernels.loops.summaries import concat_summaries, extend, finish, make_algebra, no_summaries
from trendweave.results.summaries import from_arrow, to_arrow

VALUES = st.integers(-5, 5) | st.integers(-(2**63), 2**63 - 1) | st.sampled_from([-(2**63), 2**63 - 1, 1 - 2**63])
KINDS = ("count", "sum", "min", "max")
TIERS = {"integers": (10**12, False), "arrays": (0, True), "compiled": (0, False)}


@st.composite
def streams(draw):
    """A template, and rows of one key: ticks, letters, whole values, floats that are added without rounding."""
    states = draw(st.integers(1, 3))
    pairs = [(s, t) for s in range(states) for t in range(states)]
    source, target = np.array(draw(st.lists(st.sampled_from(pairs), unique=True)), np.int64).reshape(-1, 2).T
    flags = st.lists(st.booleans(), min_size=states, max_size=states)
    variable = [draw(st.integers(0, states - 1)) for _ in range(states)]
    template = Template(np.array(variable), np.array(draw(flags)), np.array(draw(flags)), source, target)
    steps = draw(st.lists(st.sampled_from([0, 1, 1, 1, 2]), max_size=24))
    letters = np.array([draw(st.integers(0, 2**states - 1)) for _ in steps], np.uint64)
    whole = np.array([draw(VALUES) for _ in steps], np.int64)
    floats = np.array([draw(st.sampled_from([0.25, -1.5, 3.0, 0.0])) for _ in steps])
    valid = np.array([draw(st.booleans()) for _ in steps], bool) if draw(st.booleans()) else None
    return template, np.cumsum([0, *steps])[1:], letters, (whole, floats), valid


def folded(rows, template, aggregates, overlap, cuts):
    """Aggregates of windows of one pane, or of three."""
    algebra = make_algebra(template, aggregates, only_beginnings=not overlap)
    pane = rows.tick // 4
    known, summaries = {}, no_summaries(algebra)
    for low, high in zip([0, *cuts], [*cuts, rows.tick.size], strict=True):
        panes = sorted(set(pane[low:high].tolist()))
        starts = np.searchsorted(pane[low:high], [*panes, 10**9])
        part = Rows(starts, *(column[low:high] for column in (rows.tick, rows.tick, rows.tick)), rows.letters[low:high])
        given = [
            one._replace(values=one.values[low:high], valid=None if one.valid is None else one.valid[low:high])
            for one in aggregates
        ]
        which = np.array([known.get(number, -1) for number in panes], np.int64)
        grown = extend(algebra, summaries, which, part, given)
        kept = [number for number in known if number not in panes]
        summaries = concat_summaries([summaries.take(np.array([known[one] for one in kept], int)), grown])
        summaries = from_arrow(algebra, to_arrow(algebra, summaries))
        known = {number: place for place, number in enumerate([*kept, *panes])}
    order = sorted(known)
    summaries = summaries.take(np.array([known[number] for number in order], int))
    first = np.arange(-2 if overlap else 0, max(order, default=0) + 1)
    bounds = np.searchsorted(order, first), np.searchsorted(order, first + (3 if overlap else 1))
    results = finish(algebra, summaries, *bounds)
    return readable(results, first[results.segment])


def readable(results, window):
    """Rows of plain numbers; floats are rounded, as they are added in another order."""
    columns = []
    for column, valid in zip(results.aggregates, results.valid, strict=True):
        known = np.ones(len(column), bool) if valid is None else valid
        numbers = [float(f"{one:.12g}") if isinstance(one, float) else one for one in column.tolist()]
        columns.append([value if there else None for value, there in zip(numbers, known, strict=True)])
    return list(zip(window.tolist(), results.count.tolist(), *columns, strict=True))


@contextmanager
def tier(name):
    most, over_arrays = TIERS[name]
    with pytest.MonkeyPatch.context() as patch, np.errstate(over="ignore"):
        patch.setattr(run, "MOST_INTERPRETED", most)
        patch.setattr(run, "PATIENCE", most)
        if over_arrays:  # the very text that is compiled
            patch.setattr(run, "compiled_loop", run._interpreted)
        yield


def compare(stream, overlap, cuts, name, asked=slice(None)):
    template, tick, letters, (whole, floats), valid = stream
    every = 2 ** len(template.state_variable) - 1
    aggregates = [Aggregate(kind, every >> (kind == "sum"), whole, valid) for kind in KINDS[1:]]
    aggregates += [Aggregate(kind, every, floats, valid) for kind in KINDS[1:]]
    aggregates = [one for one in aggregates[asked] if one.variables]
    rows = Rows(np.array([0, tick.size]), tick, tick // 4 - (2 if overlap else 0), tick // 4, letters[:, None])
    results = aggregate(rows, template, aggregates=aggregates)
    with tier(name):
        assert folded(rows, template, aggregates, overlap, cuts) == readable(results, results.window)


@given(streams(), st.booleans(), st.sampled_from([0, plan.MOST_UNROLLED]), st.sampled_from([0, 2]), st.data())
@examples(60)
@pytest.mark.parametrize("name", ["integers", "arrays"])
def test_rows_in_pieces(name, stream, overlap, unrolled, short, data):
    begins = np.flatnonzero(np.diff(stream[1], prepend=-1)).tolist() or [0]
    cuts = data.draw(st.lists(st.sampled_from(begins), max_size=3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "MOST_UNROLLED", unrolled)
        patch.setattr(fold, "SHORT_WINDOW", short)
        write_fold.cache_clear()
        write_apply.cache_clear()
        compare(stream, overlap, sorted(cuts), name)


@pytest.mark.parametrize("name", TIERS)
@pytest.mark.parametrize("overlap", [True, False])
def test_more_trends_than_words_hold(name, overlap):
    """With values of many bits, of both signs. What is compiled sums whole numbers where windows overlap, and floats
    where they do not, as loops for both take long to compile."""
    asked = slice(None) if name != "compiled" else slice(3) if overlap else slice(3, 6)
    flags, number = np.ones(2, bool), np.arange(400)
    template = Template(np.arange(2), flags, flags, np.array([0, 0, 1]), np.array([0, 1, 1]))
    tick = number // 150 * 4 + number % 150 // 40
    whole = np.where(number % 3 == 0, -1, 1) * (number * 2**40 + 7)
    letters = np.where(number % 5 == 0, 2, 1).astype(np.uint64)
    compare((template, tick, letters, (whole, number % 8 / 4), None), overlap, [150, 190], name, asked)


def test_more_trends_than_floats_count():
    """An average of floats has no need of them."""
    rows = Rows(np.array([0, 3000]), *[np.arange(3000)] * 3, np.ones((3000, 1), np.uint64))
    floats = np.where(np.arange(3000) % 2, 1e308, 0.5e308)
    one, yes = np.zeros(1, np.int64), np.ones(1, bool)
    given = [Aggregate("count", 1), Aggregate("sum", 1, floats)]
    algebra = make_algebra(Template(one, yes, yes, one, one), given)
    summaries = extend(algebra, no_summaries(algebra), np.array([-1]), rows, given)
    summaries = from_arrow(algebra, to_arrow(algebra, summaries))
    results = finish(algebra, summaries, np.array([0]), np.array([1]))
    assert results.count.tolist() == [2**3000 - 1]
    assert average_floats(*results.aggregates[::-1]).tolist() == pytest.approx([0.75e308], rel=1e-15)
    assert results.aggregates[1].astype(float).tolist() == [np.inf]
