"""How many of all pairs a join looks at, told from some events of both sides."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from trendweave.programs.operators.joins.bands import as_floats
from trendweave.programs.operators.joins.candidates import Fitting, evaluate_on_side, find_fitting
from trendweave.programs.operators.joins.ordered import OrderedSide
from trendweave.programs.operators.joins.program import WindowJoin
from trendweave.programs.operators.joins.ways import NARROW


def find_candidate_share(join: WindowJoin, rows: pa.Table) -> float:
    """The share of candidates among all pairs of events that windows bring together: those that fit by themselves, have
    equal values, and lie in a band where that is narrow.

    Args:
        join: What is joined.
        rows: Some prepared rows of it.
    """
    asked = join.condition
    if not (asked.equal or asked.left or asked.right or asked.bands):
        return 1.0
    left, right = join.order(rows)
    if not left.key.size or not right.key.size:
        return 1.0
    fitting = find_fitting(join.condition, left, right, join.prepared_sides)
    share = _share_of_equal(fitting, is_self_join=left is right)
    for kept in (fitting.left, fitting.right):
        share *= 1.0 if kept is None else float(np.mean(kept))
    in_band = _share_in_band(join, left, right)
    return share if in_band > NARROW else share * in_band


def _share_of_equal(fitting: Fitting, is_self_join: bool) -> float:
    """Of all pairs, those of equal values. An event of a self-join meets itself once, which says nothing of others."""
    if fitting.left_codes is None or fitting.right_codes is None:
        return 1.0
    left, right = (codes[codes >= 0] for codes in (fitting.left_codes, fitting.right_codes))
    size = int(max(left.max(initial=-1), right.max(initial=-1))) + 1
    equal = float(np.dot(np.bincount(left, minlength=size), np.bincount(right, minlength=size)))
    pairs = float(fitting.left_codes.size) * fitting.right_codes.size
    if is_self_join:
        equal, pairs = max(0.0, equal - left.size), max(1.0, pairs - fitting.left_codes.size)
    return equal / pairs


def _share_in_band(join: WindowJoin, left: OrderedSide, right: OrderedSide) -> float:
    """Of all pairs, those that the first band leaves; 1.0 where there is none, or none of numbers. That events of a
    self-join meet themselves does not count."""
    for band in join.condition.bands:
        own = as_floats(evaluate_on_side(band.left, left, join.prepared_sides["left"]))
        others = as_floats(evaluate_on_side(band.right, right, join.prepared_sides["right"]))
        if own is None or others is None:
            continue
        least, most = band.around(own[0], of_left=True)
        members = np.sort(others[0][others[1]])
        inside = np.searchsorted(members, most, "right") - np.searchsorted(members, least)
        found, pairs = int(inside[own[1]].sum()), own[0].size * others[0].size
        if left is right:
            itself = own[1] & others[1] & (least <= others[0]) & (others[0] <= most)
            found, pairs = found - int(itself.sum()), max(1, pairs - own[0].size)
        return found / pairs
    return 1.0
