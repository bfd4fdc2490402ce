"""Constants of many rules, ready to be searched: which rows can be read as a variable by which rules.

Values are compared in the type in which a condition would compare them (`expressions.arrow.common_types`), one kind of
constants at a time, so that the answer is the one that the condition itself gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.expressions.arrow.evaluate import make_columns_comparable
from trendweave.expressions.arrow.times import write_duration
from trendweave.expressions.arrow.values import FLOAT, INTEGER, STRING
from trendweave.kernels.filter_index import FilterIndex, RowCodes, make_index, match_rows, take_rules
from trendweave.language import syntax_tree as st
from trendweave.rows.codes import order_codes
from trendweave.sharing.constants import Alike, Constant, Constants, Test

_TYPES: dict[type, pa.DataType] = {bool: pa.bool_(), int: INTEGER, float: FLOAT, str: STRING}
_MOMENT, _DAY = pa.timestamp("us", "UTC"), pa.date32()
_EQUALITIES = ("=", "in")
#: Values are looked up in a table of all numbers up to so many times their number, and searched for otherwise.
_PLACES_PER_VALUE = 8


@dataclass(frozen=True)
class Entries:
    """Rules whose constants are of the same kinds: per entry its rule, and per comparison its constant.

    A rule has an entry per combination of the options of its lists.
    """

    rule: np.ndarray
    tests: tuple[Test, ...]
    columns: tuple[str, ...]
    constants: tuple[pa.Array, ...]


#: The comparisons of each variable that has some, for all rules.
VariableRules: TypeAlias = Mapping[int, tuple[Entries, ...]]


@lru_cache(maxsize=64)
def index_variables(alike: Alike, columns: tuple[str, ...]) -> VariableRules:
    """Bring the constants of rules into columns. A workload that runs again has them still.

    Args:
        alike: The rules.
        columns: Per comparison, the prepared column with the value that is compared.

    Returns:
        The rules of each variable that has comparisons.
    """
    found = dict[int, tuple[Entries, ...]]()
    for variable in sorted({compared.variable for compared in alike.compared}):
        places = [place for place, compared in enumerate(alike.compared) if compared.variable == variable]
        tests = tuple(alike.compared[place].test for place in places)
        names = tuple(columns[place] for place in places)
        by_kinds: dict[tuple[pa.DataType, ...], tuple[list[int], list[tuple[object, ...]]]] = {}
        for rule in range(len(alike.members)):
            options = [_write_constants(alike.constants[place][rule]) for place in places]
            rules, rows = by_kinds.setdefault(tuple(kind for kind, _ in options), ([], []))
            for row in product(*(values for _, values in options)):
                rules.append(rule)
                rows.append(row)
        found[variable] = tuple(
            Entries(np.array(rules, np.int64), tests, names, _as_columns(kinds, rows))
            for kinds, (rules, rows) in by_kinds.items()
        )
    return found


def _as_columns(kinds: tuple[pa.DataType, ...], rows: list[tuple[object, ...]]) -> tuple[pa.Array, ...]:
    columns = zip(*rows, strict=True)
    return tuple(pa.array(column, kind) for kind, column in zip(kinds, columns, strict=True))


def _write_constants(constants: Constants) -> tuple[pa.DataType, list[object]]:
    """The type of constants of one kind as a condition would write them, and what is different of them."""
    written = [_write_constant(constant) for constant in constants]
    return written[0][0], list(dict.fromkeys(value for _, value in written))


def _write_constant(constant: Constant) -> tuple[pa.DataType, object]:
    match constant:
        case st.Literal(value=value):
            return _TYPES[type(value)], value
        case st.TimestampLiteral(microseconds=microseconds):
            return _MOMENT, microseconds
        case st.DateLiteral(days=days):
            return _DAY, days
        case st.Duration(nanoseconds=nanoseconds):
            length = write_duration(nanoseconds)
            return length.type, length.value


@dataclass(frozen=True)
class VariableMatches:
    """Rows of a table that can be read as a variable, and the rules that are looked up for them."""

    searches: tuple[tuple[FilterIndex, RowCodes], ...]

    def count(self, rules: int) -> np.ndarray:
        """The number of rows that each rule takes."""
        counts, nothing = np.zeros(rules, np.int64), np.empty(0, np.int64)
        for index, rows in self.searches:
            match_rows(index, rows, counts, nothing, nothing, False)
        return counts

    def take(self, first: int, end: int) -> VariableMatches:
        """The same for the rules first:end only, which keep their numbers."""
        taken = tuple((take_rules(index, first, end), rows) for index, rows in self.searches)
        return VariableMatches(taken)

    def list_rows(self, starts: np.ndarray, first: int) -> np.ndarray:
        """The rows of each rule from `first` on; `starts` as their numbers are known to be."""
        # Rules before the first have no entries.
        place = np.concatenate([np.zeros(first, np.int64), starts[:-1]])
        out = np.empty(int(starts[-1]), np.int64)
        for index, rows in self.searches:
            match_rows(index, rows, place, place, out, True)
        return out


def match_variable(rules: Sequence[Entries], table: pa.Table, readable: np.ndarray) -> VariableMatches:
    """Look constants up.

    Args:
        rules: The comparisons of a variable.
        table: Rows, with the columns that are compared.
        readable: The rows that meet all other conditions of the variable.

    Returns:
        The matches, neither counted nor listed.
    """
    return VariableMatches(tuple(_make_search(entries, table, readable) for entries in rules))


def _make_search(entries: Entries, table: pa.Table, readable: np.ndarray) -> tuple[FilterIndex, RowCodes]:
    rule, group = entries.rule, np.zeros(entries.rule.size, np.int64)
    of_rows, groups = np.zeros(table.num_rows, np.int64), 1
    unequal, row_codes, codes = [], [], []
    known = np.ones(rule.size, np.bool_)
    for test, name, constants in zip(entries.tests, entries.columns, entries.constants, strict=True):
        if test in _EQUALITIES:
            in_rows, in_entries = _equality_codes(table.column(name), constants)
            known &= in_entries >= 0
            of_rows, group, groups = _join(of_rows, group, in_rows, in_entries)
            continue
        in_rows, in_entries = order_codes(table.column(name), constants)
        known &= in_entries >= 0
        if test in (">", ">="):
            most = max(int(in_rows.max(initial=0)), int(in_entries.max(initial=0)))
            in_rows, in_entries = np.where(in_rows >= 0, most - in_rows, -1), most - in_entries
        unequal.append(test == "!=")
        row_codes.append(in_rows)
        # Now constants are above the values that meet them.
        codes.append(in_entries + (test in ("<=", ">=")))
    # Options that are the same value are one.
    _, once = np.unique(group * (int(rule.max(initial=0)) + 1) + rule, return_index=True)
    kept = once[known[once]]
    values = np.stack(row_codes) if row_codes else np.empty((0, table.num_rows), np.int64)
    own = np.stack(codes)[:, kept] if codes else np.empty((0, kept.size), np.int64)
    index = make_index(rule[kept], group[kept], groups, np.array(unequal, np.bool_), own)
    return index, RowCodes(readable, of_rows, values)


def _equality_codes(column: pa.ChunkedArray, constants: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Numbers that are equal where values are; -1 where a row has a value that no constant is, or NULL."""
    values, options = make_columns_comparable([column, constants])
    if pa.types.is_large_string(values.type):
        different = pc.unique(options)
        return tuple(
            pc.fill_null(pc.index_in(one, value_set=different), -1).to_numpy().astype(np.int64)
            for one in (values, options)
        )
    in_rows, in_entries = order_codes(values, options)
    different = np.unique(in_entries)
    return _places(different, in_rows), _places(different, in_entries)


def _places(different: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """The place of each number among sorted ones, -1 for those that are not among them, and for negative ones."""
    if not different.size:
        return np.full(numbers.size, -1)
    lowest, span = int(different[0]), int(different[-1]) - int(different[0]) + 1
    if span <= _PLACES_PER_VALUE * (numbers.size + different.size):
        table = np.full(span + 2, -1, np.int64)
        table[different - lowest + 1] = np.arange(different.size)
        found = table[np.clip(numbers - lowest + 1, 0, span + 1)]
    else:
        place = np.minimum(np.searchsorted(different, numbers), different.size - 1)
        found = np.where(different[place] == numbers, place, -1)
    return np.where(numbers >= 0, found, -1)


def _join(
    of_rows: np.ndarray, group: np.ndarray, in_rows: np.ndarray, in_entries: np.ndarray
) -> tuple[np.ndarray, np.ndarray, int]:
    """Groups of entries that are equal in one more column, and the group of each row; -1 for none."""
    width = int(in_entries.max(initial=0)) + 1
    # An entry that is never met stays in some group, and is left out in the end.
    joined = group * width + np.maximum(in_entries, 0)
    different, place = np.unique(joined, return_inverse=True)
    asked = np.where((of_rows >= 0) & (in_rows >= 0), of_rows * width + in_rows, -1)
    return _places(different, asked), place.astype(np.int64), different.size
