"""Pairs that a card finds are those that Arrow's evaluator finds among all."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as draws

from tests.gpu.simulator import SimulatedCard
from tests.gpu.test_filter import events
from tests.profiles import examples
from trendweave.expressions.arrow.evaluate import is_true
from trendweave.expressions.compiled.condition import Compiled, compile_condition
from trendweave.expressions.compiled.loading import without_nulls
from trendweave.gpu import bands
from trendweave.gpu.bands import find_near, sort_chunks
from trendweave.gpu.columns import put_column
from trendweave.gpu.conditions import require_compiled
from trendweave.gpu.joins import Condition, Pairs, find_among, find_pairs, in_order, scan
from trendweave.language import syntax_tree as st
from trendweave.language.operator_texts import read_condition
from trendweave.planning.outputs import map_leaves

CONDITIONS = [
    "abs(left.x - right.x) <= 0.1",
    "left.n < right.n AND (left.x > right.x OR right.broken)",
    "right.broken",
]


def test_ranges_of_rows(card: SimulatedCard) -> None:
    draw = np.random.default_rng(5)
    for number, text in enumerate(CONDITIONS):
        left, right = events(1100, number), events(700, number + 9)
        low = np.sort(draw.integers(0, 700, 1100))
        high = np.minimum(low + draw.integers(0, 500, 1100), 700)
        side = ("left", "right")[number % 2]
        probes, others = (left, right) if side == "left" else (right, left)
        low, high = low[: probes.num_rows], high[: probes.num_rows]
        condition = condition_on(card, text, left, right, side)
        expected = among_ranges(text, probes, others, side, low, high)
        on_card = card.put(low), card.put(high)

        for pairs in (
            find_pairs(card, condition, *on_card),
            scan(card, condition, *on_card, 700 if side == "left" else 1100),
            find_among(card, condition, on_card[0], on_card[1] - on_card[0]),
        ):
            assert list(zip(pairs.probe.tolist(), pairs.other.tolist(), strict=True)) == expected
        assert expected


@pytest.mark.parametrize("reach", [1, 300])
def test_long_ranges_that_all_probes_meet(card: SimulatedCard, reach: int) -> None:
    left, right = events(600), events(900, 1)
    low = np.arange(600) // 200 * 20
    high = np.where(np.arange(600) == 77, low, low + reach)
    condition = condition_on(card, CONDITIONS[0], left, right, "left")

    pairs = find_pairs(card, condition, card.put(low), card.put(high))

    expected = among_ranges(CONDITIONS[0], left, right, "left", low, high)
    assert list(zip(pairs.probe.tolist(), pairs.other.tolist(), strict=True)) == expected


def test_candidates_of_an_index(card: SimulatedCard) -> None:
    left, right = events(300), events(200, 1)
    low = np.minimum(np.arange(300), 150)
    high = low + 50
    members = np.argsort(right["n"].to_numpy(), kind="stable")
    values = right["n"].to_numpy()[members]
    wanted = left["n"].to_numpy()
    begins = np.searchsorted(values, wanted)
    lengths = np.searchsorted(values, wanted, "right") - begins
    condition = condition_on(card, "left.n = right.n AND left.x < right.x", left, right, "left")

    begins, lengths, members = map(card.put, (begins, lengths, members))
    pairs = find_among(card, condition, begins, lengths, members=members, within=(card.put(low), card.put(high)))
    expected = among_ranges("left.n = right.n AND left.x < right.x", left, right, "left", low, high)
    assert list(zip(pairs.probe.tolist(), pairs.other.tolist(), strict=True)) == expected


@pytest.mark.parametrize("few", [0, 20, 256])
@pytest.mark.parametrize("size", [256, 512])
def test_values_near_each_other(card: SimulatedCard, monkeypatch, size: int, few: int) -> None:
    """By a thread per probe, unless some probe has more near it than that."""
    monkeypatch.setattr(bands, "_FEW_NEAR", few)
    left, right = events(500), events(900, 1)
    low = np.minimum(np.arange(500) * 2, 600)
    high = np.where(np.arange(500) % 50 == 3, low, low + 300)
    own, others = (table["x"].to_numpy().astype(np.float64) for table in (left, right))
    condition = condition_on(card, CONDITIONS[0], left, right, "left")
    chunks = sort_chunks(card, card.put(others), size)
    ranges = [card.put(one) for one in (low, high, own - 0.11, own + 0.11)]

    pairs = in_order(card, find_near(card, condition, chunks, *ranges), 900)
    nothing = find_near(card, condition, chunks, *(one[:0] for one in ranges))

    expected = among_ranges(CONDITIONS[0], left, right, "left", low, high)
    assert list(zip(pairs.probe.tolist(), pairs.other.tolist(), strict=True)) == expected
    assert len(nothing.probe) == 0


ODD = [
    np.nan,
    np.inf,
    -0.0,
    0.0,
    1.5,
    np.nextafter(1.5, 2),
    np.nextafter(1.5, 1),
    1e300,
    1e308,
    -1e308,
    5e-324,
    2.0**53,
]


@examples(60)
@given(data=draws.data(), size=draws.sampled_from([1, 4, 64]))
def test_chunks_are_sorted(card: SimulatedCard, data: draws.DataObject, size: int) -> None:
    """Infinities and NaN behind numbers, equal values in the order of rows; whatever lies near what."""
    offset = data.draw(draws.sampled_from([0.0, 0.0, 1.7e18, -1e6]))
    drawn = data.draw(draws.lists(draws.sampled_from(ODD) | draws.floats(-3, 3, width=16), max_size=200))
    values = np.array(drawn, np.float64) + offset
    patch_with = data.draw(draws.sampled_from([(2**32, 64), (2**32, 1), (0, 64)]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bands, "_MOST_KEYS", patch_with[0])
        patch.setattr(bands, "_SAME_DIGITS", patch_with[1])
        chunks = sort_chunks(card, card.put(values), size)
    assert chunks.members.tolist() == [
        first + place
        for first in range(0, len(values), size)
        for place in np.argsort(values[first : first + size], kind="stable").tolist()
    ]
    np.testing.assert_array_equal(card.get(chunks.values), values[card.get(chunks.members)])
    cut = [values[first : first + size] for first in range(0, len(values), size)]
    assert (card.get(chunks.finite) - np.arange(len(cut)) * size).tolist() == [
        int(np.isfinite(one).sum()) for one in cut
    ]
    assert (card.get(chunks.present) - np.arange(len(cut)) * size).tolist() == [
        int((~np.isnan(one)).sum()) for one in cut
    ]
    assert chunks.ways == (2 if np.isinf(values).any() else 1)


@pytest.mark.parametrize(("values", "sorts"), [
    (np.random.default_rng(1).random(5_000), 0),
    (np.random.default_rng(1).random(5_000) * 3.6e12 + 1.7e18, 0),
    (np.random.default_rng(1).integers(0, 10, 5_000).astype(float), 0),
    (np.append(np.random.default_rng(1).random(5_000), -1e300)[::-1].copy(), 1),
])  # fmt: skip
def test_digits_that_do_not_tell_values_apart(card: SimulatedCard, monkeypatch, values, sorts) -> None:
    """Times, prices and categories are sorted once; what lies all near each other, and far from the first, twice."""
    calls, twice = [], bands._sort_twice
    monkeypatch.setattr(bands, "_sort_twice", lambda *given: calls.append(1) or twice(*given))
    sort_chunks(card, card.put(values), 4096)
    assert len(calls) == sorts


@pytest.mark.parametrize("each", [3, 64, 65])
def test_pairs_of_a_probe_are_brought_into_order(card: SimulatedCard, each: int) -> None:
    other = np.concatenate([np.random.default_rng(probe).permutation(500)[:each] for probe in range(20)])
    probe = np.repeat(np.arange(20) * 2, each)

    found = in_order(card, Pairs(card.put(probe), card.put(other)), 500)

    assert found.probe.tolist() == probe.tolist()
    assert found.other.tolist() == np.sort(other.reshape(20, each), axis=1).reshape(-1).tolist()


def test_every_pair_and_no_pair(card: SimulatedCard) -> None:
    low, high = card.put(np.array([0, 1, 1])), card.put(np.array([2, 3, 1]))
    condition = Condition(None, "left", {})

    pairs = find_pairs(card, condition, low, high)
    nothing = find_pairs(card, condition, low[:0], high[:0])

    assert list(zip(pairs.probe, pairs.other, strict=True)) == [(0, 0), (0, 1), (1, 1), (1, 2)]
    assert len(nothing.probe) == len(nothing.other) == 0


def condition_on(card: SimulatedCard, text: str, left: pa.Table, right: pa.Table, side: str) -> Condition:
    sides = {"left": without_nulls(left), "right": without_nulls(right)}
    compiled: Compiled = require_compiled(compile_condition(read_condition(text), sides))
    tables = {"left": left, "right": right}
    columns = {
        (operand.side, operand.column): put_column(card, tables[operand.side][operand.column])
        for operand in compiled.operands
    }
    return Condition(compiled, side, columns)


def among_ranges(
    text: str, probes: pa.Table, others: pa.Table, side: str, low: np.ndarray, high: np.ndarray
) -> list[tuple[int, int]]:
    """What Arrow's evaluator says of each pair."""
    probe = np.repeat(np.arange(low.size), high - low)
    other = np.concatenate([np.arange(a, b) for a, b in zip(low, high, strict=True)])
    other_side = "right" if side == "left" else "left"
    pairs = pa.table(
        {f"{side}_{name}": probes[name].take(pa.array(probe)) for name in probes.column_names}
        | {f"{other_side}_{name}": others[name].take(pa.array(other)) for name in others.column_names}
    )

    def joined(node: st.Expression) -> st.Expression:
        return st.Attribute(("_".join(node.names),)) if isinstance(node, st.Attribute) else node

    holds = is_true(map_leaves(read_condition(text), joined), pairs)
    return list(zip(probe[holds].tolist(), other[holds].tolist(), strict=True))
