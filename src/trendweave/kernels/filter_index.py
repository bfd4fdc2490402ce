"""Which rows meet the conditions of which rules, where rules compare the same values with other constants.

Entries (a rule, or one of several ways to meet its equalities) stand in groups of equal constants. A row asks for one
group; there the entries whose constant is above the row's value are a range of those sorted by it, found by binary
search. The entries of the shortest range are looked at. So a row costs a search per comparison, and little more than
the rules it meets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inner
from trendweave.kernels.searching import first_not_below


class FilterIndex(NamedTuple):
    """Entries in order of their groups. Codes are numbers that compare as the constants do, never negative.

    `starts`: where each group begins (groups + 1). `rule`: the rule of each entry. `unequal`: per comparison, whether
    the code of an entry must be another one than the row's; else it must be above that. `codes`: per comparison, the
    code of each entry. `orders`, `sorted`: per comparison, the entries of each group by code, and their codes.
    """

    starts: np.ndarray
    rule: np.ndarray
    unequal: np.ndarray
    codes: np.ndarray
    orders: np.ndarray
    sorted: np.ndarray


class RowCodes(NamedTuple):
    """`row`: the rows that are looked at. Per row of the table, `group`: of the equalities, -1 for none; `values`: per
    comparison its code, -1 for NULL."""

    row: np.ndarray
    group: np.ndarray
    values: np.ndarray


def make_index(rule: np.ndarray, group: np.ndarray, groups: int, unequal: np.ndarray, codes: np.ndarray) -> FilterIndex:
    """Sort entries.

    Args:
        rule: The rule of each entry.
        group: Its group.
        groups: How many there are.
        unequal: Per comparison, whether codes must differ, or be above those of rows.
        codes: Per comparison, the code of each entry.

    Returns:
        The index.
    """
    by_group = np.argsort(group, kind="stable")
    rule, group, codes = rule[by_group], group[by_group], np.ascontiguousarray(codes[:, by_group])
    orders = np.stack([np.lexsort((one, group)) for one in codes]) if len(codes) else np.empty((0, rule.size), np.int64)
    starts = np.searchsorted(group, np.arange(groups + 1))
    return FilterIndex(starts, rule, unequal, codes, orders, np.take_along_axis(codes, orders, axis=1))


def take_rules(index: FilterIndex, first: int, end: int) -> FilterIndex:
    """Keep the entries of the rules first:end."""
    kept = (index.rule >= first) & (index.rule < end)
    if kept.all():
        return index
    group = np.repeat(np.arange(index.starts.size - 1), np.diff(index.starts))
    groups = index.starts.size - 1
    return make_index(index.rule[kept], group[kept], groups, index.unequal, index.codes[:, kept])


@inner
def match_rows(
    index: FilterIndex, rows: RowCodes, counts: np.ndarray, place: np.ndarray, out: np.ndarray, fill: bool
) -> None:
    """Count the rows that each rule takes, or list them.

    Args:
        index: The rules.
        rows: The rows.
        counts: Per rule, what the number of its rows is added to; not read where they are listed.
        place: Per rule, where its next row is written; not read where they are counted.
        out: The rows of all rules, each rule's in their order.
        fill: List them?
    """
    comparisons = index.unequal.size
    for at in range(rows.row.size):
        row = rows.row[at]
        group = rows.group[row]
        if group < 0:
            continue
        low, high = index.starts[group], index.starts[group + 1]
        best_low, best = low, -1
        for one in range(comparisons):
            value = rows.values[one, row]
            if value < 0:
                best_low = high
                break
            if not index.unequal[one]:
                own_low = first_not_below(index.sorted[one], low, high, value + 1)
                if best < 0 or own_low > best_low:
                    best_low, best = own_low, one
        for number in range(best_low, high):
            entry = number if best < 0 else index.orders[best, number]
            meets = True
            for one in range(comparisons):
                value, constant = rows.values[one, row], index.codes[one, entry]
                if one != best and (constant == value if index.unequal[one] else constant <= value):
                    meets = False
                    break
            if meets:
                rule = index.rule[entry]
                if fill:
                    out[place[rule]] = row
                    place[rule] += 1
                else:
                    counts[rule] += 1


@inner
def find_near(
    rule: np.ndarray,
    row: np.ndarray,
    anchor_rule: np.ndarray,
    anchor: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    near: np.ndarray,
) -> None:
    """Find the rows of each rule that are near one of its anchors: between `low` and `high` of it, which are rows. Both
    stand by rule and row."""
    at = 0
    for place in range(row.size):
        own = rule[place]
        while at < anchor.size and (
            anchor_rule[at] < own or (anchor_rule[at] == own and high[anchor[at]] <= row[place])
        ):
            at += 1
        near[place] = at < anchor.size and anchor_rule[at] == own and low[anchor[at]] <= row[place]
