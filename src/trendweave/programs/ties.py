"""Events with the same timestamp: how many there are in a partition, and how many could follow each other if something
ordered them. A program keeps rows in one of several forms; all are looked at here."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeGuard

import numpy as np
import pyarrow as pa

from trendweave.expressions.arrow.evaluate import column_of
from trendweave.planning.plan import Path, Plan
from trendweave.programs.program import Program
from trendweave.programs.trends.bound import BoundTrends
from trendweave.rows.codes import key_codes, pair_codes
from trendweave.rows.encoded import CHUNK, TIME, read_letters
from trendweave.rows.times import as_steps, time_type

if TYPE_CHECKING:
    from trendweave.programs.shared.program import Shared
    from trendweave.programs.situated.program import InSituations

#: So many queries of a workload are looked at one by one.
_MOST_VIEWS = 20


@dataclass(frozen=True, slots=True)
class TieKeys:
    """What events of one partition have in common, as attributes of prepared rows, with columns that order events of
    one time; those of `known` must not be NULL."""

    keys: tuple[Path, ...]
    known: tuple[Path, ...] = ()


def count_ties(program: Program, rows: pa.Table, chunk: int | None = None) -> int:
    """How many events have the time of another one of their partition, and nothing that orders them.

    Args:
        program: What reads them; queries for trends are looked at alone.
        rows: Rows that it has prepared.
        chunk: The length of chunks of time, in steps, where rows are in every chunk that needs them: each event is
            counted in its own.

    Returns:
        Their number; where queries have several kinds of partitions, an event counts in each.
    """
    if chunk is not None and rows.num_rows:
        own = np.floor_divide(_steps_of(rows), chunk) == rows.column(CHUNK).to_numpy()
        rows = rows.filter(pa.array(own))
    if not _is_shared(program):
        keys = _find_keys(program)
        return 0 if keys is None else _count(rows, keys)
    from trendweave.programs.shared.rows import SharedRows

    shared = SharedRows(rows, program.rows)
    # What queries with the same partitions take, together.
    taken: dict[tuple[int, TieKeys], set[int] | None] = {}
    for unit, view in zip(program.units, program.rows.views, strict=True):
        if (keys := _find_keys(unit.source)) is not None:
            names = ([(view.shared_name(path[0]), *path[1:]) for path in own] for own in (keys.keys, keys.known))
            kind = view.family, TieKeys(*(tuple(sorted(own)) for own in names))
            before = taken.setdefault(kind, set())
            taken[kind] = None if before is None or view.takes is None else before | set(view.takes)
    total = 0
    for (family, keys), bits in taken.items():
        own_rows = shared.of_family(family)
        table = own_rows.table if bits is None else own_rows.table.filter(pa.array(own_rows.with_any(sorted(bits))))
        total += _count(table, keys)
    return total


def find_joinable(program: Program, rows: pa.Table) -> Iterator[tuple[str, int, int]]:
    """Events of one time that a pattern could join: some can be read as what may directly follow another one.

    Args:
        program: What reads them; trends in situations are not looked at.
        rows: Rows that it has prepared.

    Yields:
        Per query its text, how many such events there are, and how many events.
    """
    if isinstance(program, BoundTrends):
        yield from _find_joinable(program, [program.plan], rows)
    elif _is_shared(program):
        from trendweave.programs.shared.rows import SharedRows

        shared = SharedRows(rows, program.rows)
        for number, unit in enumerate(program.units[:_MOST_VIEWS]):
            if unit.patterns:
                yield from _find_joinable(unit.source, unit.patterns[:_MOST_VIEWS], shared.view(number))


def _find_joinable(program: Program, plans: Sequence[Plan], rows: pa.Table) -> Iterator[tuple[str, int, int]]:
    """The same for plans that read the events of a program."""
    keys = _find_keys(program)
    if keys is None or not rows.num_rows or not isinstance(program, BoundTrends):
        return
    same = _find_same_time(rows, keys)
    letters = {(variable.type, variable.local): letter for letter, variable in enumerate(program.plan.variables)}
    for plan in plans:
        number = {one.name: letters[one.type, one.local] for one in plan.variables if (one.type, one.local) in letters}
        yield plan.text, _count_joinable(plan, number, rows, same), rows.num_rows


# Whoever has such a program has imported its class, and others need not wait for a hundred modules.


def _is_shared(program: Program) -> TypeGuard[Shared]:
    module = sys.modules.get("trendweave.programs.shared.program")
    return module is not None and isinstance(program, module.Shared)


def _is_situated(program: Program) -> TypeGuard[InSituations]:
    module = sys.modules.get("trendweave.programs.situated.program")
    return module is not None and isinstance(program, module.InSituations)


def _find_keys(program: Program) -> TieKeys | None:
    """None where nothing of the program depends on which of two events of one time comes first."""
    inner = program.inner if _is_situated(program) else program
    if not isinstance(inner, BoundTrends) or not any(template.transitions for template in inner.plan.templates):
        return None
    if _is_situated(program):
        paths: list[Path] = [program.kept.path(key.path) for key in inner.plan.partition_key]
        ties = tuple(program.kept.path((name,)) for name in inner.order_by)
    else:
        paths = [(name,) for name in inner.preparation.partition_key]
        ties = tuple((name,) for name in inner.preparation.ties)
    known = (path for path, key in zip(paths, inner.plan.partition_key, strict=True) if not key.nullable)
    return TieKeys((*paths, *ties), tuple(known))


def _count(rows: pa.Table, keys: TieKeys) -> int:
    _, moments = _number_moments(rows, keys)
    events = np.bincount(moments)
    return int(events[events > 1].sum())


def _find_same_time(rows: pa.Table, keys: TieKeys) -> np.ndarray:
    """A number per row, equal for events of one partition and time; -1 where an event is alone with its time."""
    found = np.full(rows.num_rows, -1, np.int64)
    at, moments = _number_moments(rows, keys)
    tied = (np.bincount(moments) > 1)[moments]
    found[at[tied]] = moments[tied]
    return found


def _number_moments(rows: pa.Table, keys: TieKeys) -> tuple[np.ndarray, np.ndarray]:
    """The places of rows that share their time with another one of any partition, and a number for each, equal for
    those of one partition and time."""
    at, times = _share_a_value(_steps_of(rows))
    if not at.size:
        return at, times
    paths = [*keys.keys, *(((CHUNK,),) if CHUNK in rows.column_names else ())]
    some = rows.select(list(dict.fromkeys(path[0] for path in (*paths, *keys.known))))
    some = some if at.size == rows.num_rows else some.take(pa.array(at))
    known = None
    for path in keys.known:
        if (column := column_of(some, path)).null_count:
            valid = column.is_valid().to_numpy(zero_copy_only=False)
            known = valid if known is None else known & valid
    if known is not None:
        some, at, times = some.filter(pa.array(known)), at[known], times[known]
    if not paths:
        return at, times
    columns = [column_of(some, path) for path in paths]
    return at, pair_codes(times, key_codes([pa.chunked_array([column]) for column in columns], at.size))


def _share_a_value(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The places of values that there are several of, and a number for each, equal for equal values."""
    in_order = bool((values[1:] >= values[:-1]).all())
    ordered = values if in_order else np.sort(values)
    other = ordered[1:] != ordered[:-1]
    if other.all():
        return np.empty(0, np.int64), np.empty(0, np.int64)
    if in_order:
        numbers = np.zeros(values.size, np.int64)
        np.cumsum(other, out=numbers[1:])
    else:
        numbers = key_codes([pa.chunked_array([values])], values.size)
    several = np.bincount(numbers) > 1
    if several.all():
        return np.arange(values.size), numbers
    places = np.flatnonzero(several[numbers])
    return places, numbers[places]


def _count_joinable(plan: Plan, number: Mapping[str, int], rows: pa.Table, same: np.ndarray) -> int:
    """Events whose time has one that can be read as some variable, and another one as a variable that may follow it.
    `number` tells the bit of each variable."""
    tied = np.flatnonzero(same >= 0)
    if not tied.size:
        return 0
    letters, groups = read_letters(rows)[tied], same[tied]
    joined = np.zeros(int(groups.max()) + 1, np.bool_)
    pairs = {pair for template in plan.templates for pair in template.neighbours()}
    for earlier, later in pairs:
        one, other = (
            letters[:, number[name] // 64] >> np.uint64(number[name] % 64) & np.uint64(1) != 0
            for name in (earlier, later)
        )
        first, second, either = (np.bincount(groups[own], minlength=joined.size) for own in (one, other, one | other))
        joined |= (first > 0) & (second > 0) & (either > 1)
    return int(np.count_nonzero(joined[groups]))


def _steps_of(rows: pa.Table) -> np.ndarray:
    return as_steps(rows.column(TIME), time_type(rows.column(TIME).type))
