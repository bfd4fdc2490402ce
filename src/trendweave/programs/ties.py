"""Events with the same timestamp: how many there are in a partition, and how many could follow each other if something
ordered them. A program keeps rows in one of several forms; all are looked at here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from trendweave.expressions.arrow.evaluate import column_of
from trendweave.planning.plan import Plan
from trendweave.programs.program import Program, TieKeys
from trendweave.programs.trends.bound import BoundTrends
from trendweave.rows.codes import key_codes, pair_codes
from trendweave.rows.encoded import CHUNK, TIME, read_letters
from trendweave.rows.times import as_steps, time_type

#: So many queries of a workload are looked at one by one.
_MOST_VIEWS = 20


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
    workload = program.workload
    if workload is None:
        return 0 if program.tie_keys is None else _count(rows, program.tie_keys)
    shared = workload.share(rows)
    # What queries with the same partitions take, together.
    taken: dict[tuple[int, TieKeys], set[int] | None] = {}
    for unit, view in zip(workload.units, workload.rows.views, strict=True):
        if (keys := unit.source.tie_keys) is not None:
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
    elif (workload := program.workload) is not None:
        shared = workload.share(rows)
        for number, unit in enumerate(workload.units[:_MOST_VIEWS]):
            if unit.patterns:
                yield from _find_joinable(unit.source, unit.patterns[:_MOST_VIEWS], shared.view(number))


def _find_joinable(program: Program, plans: Sequence[Plan], rows: pa.Table) -> Iterator[tuple[str, int, int]]:
    """The same for plans that read the events of a program."""
    if program.tie_keys is None or not rows.num_rows or not isinstance(program, BoundTrends):
        return
    same = _number_ties(rows, program.tie_keys)
    letters = {(variable.type, variable.local): letter for letter, variable in enumerate(program.plan.variables)}
    for plan in plans:
        number = {one.name: letters[one.type, one.local] for one in plan.variables if (one.type, one.local) in letters}
        yield plan.text, _count_joinable(plan, number, rows, same), rows.num_rows


def _count(rows: pa.Table, keys: TieKeys) -> int:
    return int(np.count_nonzero(_number_ties(rows, keys) >= 0))


def _number_ties(rows: pa.Table, keys: TieKeys) -> np.ndarray:
    """A number per row, equal for events of one partition and time; -1 where an event is alone with its time."""
    found, times = np.full(rows.num_rows, -1, np.int64), _steps_of(rows)
    later = times[1:] != times[:-1]
    in_order = bool((times[1:] >= times[:-1]).all())
    if in_order and later.all():
        return found
    moments = np.append(0, np.cumsum(later)) if in_order else key_codes([pa.chunked_array([times])], times.size)
    at = np.flatnonzero((np.bincount(moments) > 1)[moments])
    paths = [*keys.keys, *(((CHUNK,),) if CHUNK in rows.column_names else ())]
    some = rows.select(list(dict.fromkeys(path[0] for path in (*paths, *keys.known))))
    some = some if at.size == times.size else some.take(pa.array(at))
    for path in keys.known:
        known = column_of(some, path).is_valid()
        some, at = some.filter(known), at[known.to_numpy(zero_copy_only=False)]
    columns = [pa.chunked_array([column_of(some, path)]) for path in paths]
    numbers = pair_codes(moments[at], key_codes(columns, at.size))
    tied = (np.bincount(numbers) > 1)[numbers]
    found[at[tied]] = numbers[tied]
    return found


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
