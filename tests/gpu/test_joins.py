"""Pairs that a card finds are those that Arrow's evaluator finds among all."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tests.gpu.simulator import SimulatedCard
from tests.gpu.test_filter import events
from trendweave.expressions.arrow.evaluate import is_true
from trendweave.expressions.compiled.condition import Compiled, compile_condition
from trendweave.expressions.compiled.loading import without_nulls
from trendweave.gpu.columns import put_column
from trendweave.gpu.filter import require_compiled
from trendweave.gpu.joins import Condition, find_pairs, meet_short, scan
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
            meet_short(card, condition, *on_card),
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


def test_every_pair_and_no_pair(card: SimulatedCard) -> None:
    low, high = card.put(np.array([0, 1, 1])), card.put(np.array([2, 3, 1]))
    condition = Condition(Compiled((), "", "__device__ bool test() { return true; }"), "left", {})

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
