"""Rows that serve many programs: every expression is a column once, every condition a bit once.

Shared rows have the time, words of bits, and columns. Each program that asked for some of them gets its own view: only
its rows, under the names that it gave.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa

from trendweave.language import syntax_tree as st
from trendweave.planning.plan import Path
from trendweave.programs.program import FAMILY, MEETS, Family, Flag, Needs, Program
from trendweave.rows.encoded import APART, CHUNK, LETTERS, TIME, Encodings, read_letters
from trendweave.sharing.one_pass import find_families

_CARRIED_ALONG = (CHUNK, APART)
#: What rows of different programs meet by, see `plan_rows`.
MeetBy: TypeAlias = Literal["common keys", "own keys", "keys of results"]


@dataclass(frozen=True, slots=True)
class View:
    """What shared rows are to one program.

    Attributes:
        columns: Its names of columns, and theirs.
        words: Its names of words, and per bit of each the shared bit; None for one that is not set yet.
        takes: Its rows are those with one of these shared bits; None: all.
        family: The family that its rows are copied for.
        has_time: Whether rows have a time.
    """

    columns: tuple[tuple[str, str], ...]
    words: tuple[tuple[str, tuple[int | None, ...]], ...]
    takes: tuple[int, ...] | None
    family: int
    has_time: bool

    def shared_name(self, own: str) -> str:
        """The shared name of a column."""
        return own if own == TIME else dict(self.columns)[own]


@dataclass(frozen=True)
class RowsPlan:
    """The columns and bits of shared rows, and a view for each program that asked for them."""

    columns: tuple[tuple[str, st.Expression], ...]
    flags: tuple[Flag, ...]
    views: tuple[View, ...]
    families: tuple[Family, ...]
    asked: int = 0

    @property
    def saved(self) -> int:
        """Expressions and conditions that need not be evaluated again."""
        return self.asked - len(self.columns) - len(self.flags)

    @cached_property
    def words(self) -> tuple[str, ...]:
        return tuple(f"{LETTERS}{word}" for word in range(-(-len(self.flags) // 64)))

    @cached_property
    def users(self) -> Counter[View]:
        """How many programs have each view."""
        return Counter(self.views)

    @property
    def every_row(self) -> bool:
        """Whether some program takes rows that no flag is set in."""
        return any(view.takes is None for view in self.views)


def name_column(expression: st.Expression) -> str:
    """A name that tells what the column holds, the same in every workload: rows that wait outlive a change of it."""
    return f"s_{hashlib.sha256(repr(expression).encode()).hexdigest()[:16]}"


class _Gathering:
    """Gives each different expression a name, and each different flag a bit."""

    def __init__(self, time: str | None) -> None:
        self.names: dict[st.Expression, str] = {} if time is None else {st.Attribute((time,)): TIME}
        self.bits: dict[Flag, int] = {}
        self.asked = 0

    def name(self, expression: st.Expression) -> str:
        self.asked += expression not in self.names or self.names[expression] != TIME
        return self.names.setdefault(expression, name_column(expression))

    def bit(self, flag: Flag) -> int:
        self.asked += 1
        return self.bits.setdefault(flag, len(self.bits))

    def view(self, needs: Needs, type_apart: bool) -> View:
        columns = tuple((name, self.name(expression)) for name, expression in needs.columns)
        flags = [None if one is None else self.bit(tell_type(one, needs, type_apart)) for one in needs.flags]
        words = tuple((name, tuple(flags[64 * i : 64 * i + 64])) for i, name in enumerate(needs.words))
        takes: tuple[int, ...] | None = None
        if needs.only_flagged:
            takes = tuple(dict.fromkeys(bit for bit in flags if bit is not None))
        elif needs.kept_types is not None or (type_apart and needs.type is not None):
            takes = self._bits_of_types(needs, type_apart)
        return View(columns, words, takes, 0, needs.time is not None)

    def _bits_of_types(self, needs: Needs, type_apart: bool) -> tuple[int, ...]:
        if needs.kept_types is None:
            return (self.bit(has_type(needs.type)),)
        return tuple(self.bit(tell_type(Flag(name), needs, type_apart)) for name in sorted(needs.kept_types))


def count_asked(program: Program) -> int:
    """The row expressions and conditions of a program."""
    needs = program.needs
    time = None if needs.time is None else st.Attribute((needs.time,))
    return len(needs.flags) + sum(expression != time for _, expression in needs.columns)


def tell_type(flag: Flag, needs: Needs, type_apart: bool) -> Flag:
    """Where not all programs read the type, the type is a condition like others."""
    if not type_apart or flag.type is None or needs.type is None:
        return flag
    is_type = st.Comparison("=", st.Attribute((needs.type,)), st.Literal(flag.type))
    match flag.condition:
        case None:
            return Flag(None, is_type)
        case st.AllOf(parts=parts):
            return Flag(None, st.AllOf((is_type, *parts)))
        case condition:
            return Flag(None, st.AllOf((is_type, condition)))


def has_type(column: str | None) -> Flag:
    """Set in rows that have a type."""
    assert column is not None
    return Flag(None, st.IsNull(st.Attribute((column,)), negated=True))


def plan_rows(
    programs: Sequence[Program],
    whole: bool = False,
    known: Sequence[frozenset[Path]] = (),
    meet_by: MeetBy = "common keys",
) -> RowsPlan:
    """Gather what programs need of rows.

    Args:
        programs: All of them read the same events, with the same time.
        whole: Rows also hold every column of events that is read, so that other rows can be made of them.
        known: Families that there were before, which keep their keys and numbers.
        meet_by: Rows meet by keys that programs have in common; or by the own keys of each program, so that nobody else
            decides where its rows are; or by those of them that rows of its results have in common.

    Returns:
        A plan with one view per program, in their order.
    """
    needs = [program.needs for program in programs]
    type_apart = len({one.type for one in needs}) > 1
    gathering = _Gathering(needs[0].time)
    views = [gathering.view(one, type_apart) for one in needs]
    keys = [
        frozenset(_shared_path(view, path) for path in (one.merged if meet_by == "keys of results" else one.together))
        for view, one in zip(views, needs, strict=True)
    ]
    if whole:
        for name in sorted({name for one in needs for name in one.read}):
            gathering.names.setdefault(st.Attribute((name,)), name_column(st.Attribute((name,))))
    families, of_view = _find_families(keys, known, meet_by)
    views = [replace(view, family=family) for view, family in zip(views, of_view, strict=True)]
    return RowsPlan(
        tuple((name, expression) for expression, name in gathering.names.items() if name != TIME),
        tuple(gathering.bits),
        tuple(views),
        tuple(Family(tuple(sorted(keys)), _taken_by(views, number)) for number, keys in enumerate(families)),
        gathering.asked,
    )


def _find_families(
    keys: Sequence[frozenset[Path]], known: Sequence[frozenset[Path]], meet_by: MeetBy
) -> tuple[list[frozenset[Path]], list[int]]:
    """Families, and the number of that of each program."""
    if meet_by == "common keys":
        return find_families(keys, known)
    families = sorted(set(keys), key=lambda names: (len(names), sorted(names)))
    return families, [families.index(one) for one in keys]


def _taken_by(views: Sequence[View], family: int) -> tuple[int, ...] | None:
    taken: dict[int, None] = {}
    for view in views:
        if view.family != family:
            continue
        if view.takes is None:
            return None
        taken |= dict.fromkeys(view.takes)
    return tuple(taken)


def _shared_path(view: View, path: Path) -> Path:
    return (view.shared_name(path[0]), *path[1:])


def unite_needs(rows: RowsPlan, sources: Sequence[Program]) -> Needs:
    """What all programs need together.

    Args:
        rows: What rows hold, with a view for each program.
        sources: The programs.

    Returns:
        Their needs as one.
    """
    needs = [source.needs for source in sources]
    types = {one.type for one in needs}
    rules = sorted({one.rule for one in needs if one.rule is not None})
    one_family = len(rows.families) == 1
    return Needs(
        time=needs[0].time,
        type=types.pop() if len(types) == 1 else None,
        read=tuple(sorted({name for one in needs for name in one.read})),
        named_types=_unite_types(needs),
        columns=rows.columns,
        flags=rows.flags,
        words=rows.words,
        only_flagged=not rows.every_row,
        together=rows.families[0].keys if one_family else ((FAMILY,), (MEETS,)),
        families=rows.families,
        merged=_find_merged(rows, needs) if one_family else (),
        rule=", ".join(rules) or None,
    )


def _unite_types(needs: Sequence[Needs]) -> frozenset[str] | None:
    named = [one.named_types for one in needs if one.named_types is not None]
    return frozenset[str]().union(*named) if len(named) == len(needs) else None


def _find_merged(rows: RowsPlan, needs: Sequence[Needs]) -> tuple[Path, ...]:
    """Keys that the rows of every result have in common."""
    common: set[Path] | None = None
    for view, one in zip(rows.views, needs, strict=True):
        own = {(view.shared_name(path[0]), *path[1:]) for path in one.merged}
        common = own if common is None else common & own
    return tuple(sorted(common or ()))


@dataclass(frozen=True)
class SharedRows:
    """Shared rows, and how programs see them."""

    table: pa.Table
    plan: RowsPlan

    @cached_property
    def letters(self) -> np.ndarray:
        """The bits of all rows, in words of 64."""
        return read_letters(self.table)

    def of_family(self, family: int) -> SharedRows:
        """Only the rows that were copied for a family; all where nothing was copied."""
        if FAMILY not in self.table.column_names:
            return self
        own = self.table.column(FAMILY).to_numpy() == self.plan.families[family].mark
        return self if own.all() else replace(self, table=self.table.filter(pa.array(own)))

    def between(self, first: int, end: int, steps: np.ndarray) -> SharedRows:
        """Only the rows of some times; `steps` are the times of all."""
        inside = (steps >= first) & (steps < end)
        return self if inside.all() else replace(self, table=self.table.filter(pa.array(inside)))

    def view(self, number: int) -> pa.Table:
        """The rows of the program with this number, under its own names. Programs that see the same have one table,
        whose order and codes are found once."""
        view = self.plan.views[number]
        if self.plan.users[view] == 1:
            return self._make_view(view)
        if view not in self._common_views:
            self._common_views[view] = Encodings(self._make_view(view))
        return self._common_views[view].table

    @cached_property
    def _common_views(self) -> dict[View, Encodings]:
        return {}

    def _make_view(self, view: View) -> pa.Table:
        rows = self.of_family(view.family)
        kept = None if view.takes is None else rows.with_any(view.takes)
        names = [*((TIME,) if view.has_time else ()), *_CARRIED_ALONG]
        columns = {name: rows.table.column(name) for name in names if name in rows.table.column_names}
        columns |= {own: rows.table.column(shared) for own, shared in view.columns}
        columns |= {name: pa.chunked_array([pa.array(rows._word(bits))]) for name, bits in view.words}
        table = pa.table(columns)
        return table if kept is None or kept.all() else table.filter(pa.array(kept))

    def with_any(self, bits: Sequence[int]) -> np.ndarray:
        """Whether one of some shared bits is set, per row."""
        kept = np.zeros(self.table.num_rows, np.bool_)
        for word, mask in _masks(bits).items():
            kept |= self.letters[:, word] & mask != 0
        return kept

    def _word(self, bits: Sequence[int | None]) -> np.ndarray:
        """A program's own word of flags."""
        word = np.zeros(self.table.num_rows, np.uint64)
        shifts: dict[tuple[int, int], int] = {}
        for own, shared in enumerate(bits):
            if shared is not None:
                # Bits that move by the same distance move together.
                key = (shared // 64, own - shared % 64)
                shifts[key] = shifts.get(key, 0) | 1 << shared % 64
        for (source, distance), mask in shifts.items():
            moved = self.letters[:, source] & np.uint64(mask)
            word |= moved << np.uint64(distance) if distance >= 0 else moved >> np.uint64(-distance)
        return word.view(np.int64)


def _masks(bits: Sequence[int]) -> dict[int, np.uint64]:
    """Per word, a mask of its bits."""
    masks: dict[int, int] = {}
    for bit in bits:
        masks[bit // 64] = masks.get(bit // 64, 0) | 1 << bit % 64
    return {word: np.uint64(mask) for word, mask in masks.items()}
