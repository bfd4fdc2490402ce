"""Queries of a stream that came at a restart, beside others that were there before, without planning anything anew.

The driver of a stream plans rows and units before it knows the state that it goes on with. So units stay as they are
planned, with queries that came at different times in one unit. Of most queries rows of results tell whether they began
early enough to be left out. A unit with others is computed once for each time at which some of them came, on events
since then, and gives the rows of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from trendweave.programs.program import FIRST, Steps
from trendweave.programs.shared.changes import carry_key
from trendweave.programs.shared.program import Shared
from trendweave.programs.shared.since import RowFilter
from trendweave.programs.shared.steps import SharedSteps
from trendweave.programs.shared.unit import Given, Unit
from trendweave.rows.times import time_type


@dataclass(frozen=True)
class Pass:
    """One computation of a unit.

    Attributes:
        unit: The number of the unit.
        since: Events before are not seen; None: all are.
        names: Rows of other queries are left out; None: all count.
        came: When queries came, by name, whose rows are left out where they begin earlier.
    """

    unit: int
    since: int | None = None
    names: frozenset[str] | None = None
    came: tuple[tuple[str, int], ...] = ()

    @cached_property
    def filter(self) -> str | None:
        """What `RowFilter.read` reads; None where no row is left out."""
        if self.names is None and not self.came:
            return None
        return RowFilter.write(self.names, dict(self.came))


def plan_passes(program: Shared, came: Mapping[str, int]) -> list[Pass]:
    """How units are computed, for queries that came at these times."""
    passes = []
    for number, unit in enumerate(program.units):
        names = names_of(program, unit)
        later = {name: came[name] for name in names if name in came}
        # These must not see earlier events; of others, rows tell.
        blind = {name: since for name, since in later.items() if program.find_begin(name, since) is None}
        told = tuple((name, since) for name, since in later.items() if name not in blind)
        groups: dict[int | None, set[str]] = {}
        for name in names:
            groups.setdefault(blind.get(name), set()).add(name)
        for since, group in groups.items():
            own = tuple(one for one in told if one[0] in group)
            passes.append(Pass(number, since, frozenset(group) if len(groups) > 1 else None, own))
    return passes


def names_of(program: Shared, unit: Unit) -> list[str]:
    """The names of the queries of a unit."""
    return [name for member in unit.members for name in program.names[member]]


def steps_of(program: Shared, came: Mapping[str, int], in_parts: bool, early: bool = False) -> Steps | None:
    """The steps of a workload some of whose queries came later.

    Args:
        program: The workload, as it was planned.
        came: When queries came, by name, in steps of the time column; others were there from the beginning.
        in_parts: Whether parts of results are asked for.
        early: Whether rows of what is still open are asked for.

    Returns:
        The steps; None where nothing is final before the end.
    """
    made = [program.make_steps(unit, in_parts, early) for unit in program.units]
    if not came or any(steps is None for steps in made):
        return program.steps(in_parts, early)
    passes = plan_passes(program, came)

    def write(number: int, given: Iterable[Given]) -> Iterator[pa.RecordBatch]:
        one = passes[number]
        if in_parts:
            return program.write_parts(one.unit, given, one.filter)
        rows = program.write_rows(one.unit, given)
        return rows if one.filter is None else RowFilter.read(program.find_begin, one.filter).keep(rows)

    return SharedSteps(
        tuple(program.units[one.unit] for one in passes),
        tuple(steps for one in passes if (steps := made[one.unit]) is not None),
        in_parts,
        tuple(_carry_key(program, one, came) for one in passes),
        tuple(FIRST if one.since is None else one.since for one in passes),
        time_type(program.moment),
        program.share,
        write,
        lambda number: program.telling(passes[number].unit),
    )


def _carry_key(program: Shared, one: Pass, came: Mapping[str, int]) -> str:
    """Nothing is carried by units of several queries. Names of one text that came at different times, and whose rows
    tell, have the carry of the first of them."""
    unit = program.units[one.unit]
    names = [name for name in names_of(program, unit) if one.names is None or name in one.names]
    since = None if any(name not in came for name in names) else min(came[name] for name in names)
    return carry_key(program.programs[unit.members[0]], since)


def settle(program: Shared, came: Mapping[str, int], watermark: int) -> dict[str, int]:
    """When queries came, without those of which nothing is open any more that began before."""
    open_ones = dict(came)
    for unit in program.units:
        steps = program.make_steps(unit)
        if steps is None or steps.carries:
            continue
        for name in names_of(program, unit):
            if name in open_ones and steps.keeps_from(watermark) > open_ones[name]:
                del open_ones[name]
    return open_ones
