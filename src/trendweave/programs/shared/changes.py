"""Workloads that change while a state of them lives on: which queries stayed, and what becomes of rows that wait.

A query is known by its name and its text: a text that changed under a name makes a new query. What is carried from step
to step belongs to a text and to the time since when it is computed, so a new query never reads what an old one left.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import pyarrow as pa

from trendweave.errors import DataError, Problem
from trendweave.language import syntax_tree as st
from trendweave.planning.plan import Path
from trendweave.programs.preparing import prepare_rows
from trendweave.programs.program import FAMILY, MEETS, Needs, Program
from trendweave.programs.shared.rows import name_column
from trendweave.rows.encoded import APART, CHUNK, TIME

#: Columns of rows that do not come from events.
_ALONG = (FAMILY, MEETS, CHUNK, APART)


@dataclass(frozen=True, slots=True)
class Known:
    """What is recorded of a query.

    Attributes:
        text: Tells its text from others.
        owner: Tells it, with its options and the columns that it reads, from others.
        since: When it came, in steps of the time column; None: it was there from the beginning.
        folded: Whether its events were forgotten, and what it needs of them is carried.
    """

    text: str
    owner: str
    since: int | None = None
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """What is recorded of a workload: its queries by name, how times are written, and the keys of its families, which
    keep their numbers."""

    queries: Mapping[str, Known]
    times: str
    families: tuple[frozenset[Path], ...] = ()

    def write(self) -> str:
        """As text."""
        queries = {
            name: [one.text, one.owner, one.since, *([True] if one.folded else [])]
            for name, one in self.queries.items()
        }
        families = [sorted(keys) for keys in self.families]
        return json.dumps({"queries": queries, "times": self.times, "families": families})

    @staticmethod
    def read(text: str) -> Record:
        """What `write` made.

        Raises:
            DataError: It is no such text (TW311).
        """
        try:
            found = json.loads(text)
            queries = {name: Known(*one) for name, one in found["queries"].items()}
            families = tuple(frozenset(map(tuple, keys)) for keys in found["families"])
            return Record(queries, found["times"], families)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            message = f"the record of the workload cannot be read: {error}"
            raise DataError([Problem("TW311", message, "start from an empty state")]) from error


def recognise(program: Program, since: int | None = None) -> Known:
    """What is recorded of the program of a query."""
    text = hashlib.sha256(program.text.encode()).hexdigest()[:16]
    return Known(text, program.state_identity, since)


def carry_key(program: Program, since: int | None) -> str:
    """Names what is carried for a query that is there since a time."""
    return f"{recognise(program).owner}@{'' if since is None else since}"


@dataclass(frozen=True)
class Roster:
    """The queries of a workload.

    Attributes:
        programs: A program per name of a query.
        since: When queries came that were not there from the beginning, in steps of the time column.
        folded: The names of queries whose events were forgotten.
    """

    programs: Mapping[str, Program]
    since: Mapping[str, int] = field(default_factory=dict)
    folded: frozenset[str] = frozenset()

    @cached_property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The names that have one text, in the order of the first of them."""
        groups: dict[str, list[str]] = {}
        for name, program in self.programs.items():
            groups.setdefault(program.text, []).append(name)
        return tuple(map(tuple, groups.values()))

    def record(self, families: Sequence[frozenset[Path]]) -> Record:
        """What is kept with states."""
        known = {
            name: replace(recognise(program, self.since.get(name)), folded=name in self.folded)
            for name, program in self.programs.items()
        }
        return Record(known, self._times(), tuple(families))

    def _times(self) -> str:
        one = next(iter(self.programs.values()))
        return f"{one.needs.time} {one.moment}"

    def after(self, record: Record, came: int | None) -> Roster:
        """The same queries after a change.

        Args:
            record: Of the workload before.
            came: Since when those are there that are new, in steps; None where nothing has come yet.

        Returns:
            The queries; those that stayed are there since when they were.

        Raises:
            DataError: A query is the same, but not its options or the types of its columns; or times are others.
        """
        since: dict[str, int] = {}
        folded: set[str] = set()
        problems = []
        for name, program in self.programs.items():
            before, now = record.queries.get(name), recognise(program)
            stayed = before is not None and before.text == now.text
            if before is not None and stayed and before.owner != now.owner:
                message = "the state was made with other options, or for events with other columns"
                problems.append(
                    Problem(
                        "TW311", message, "resume with those that made it, or start with an empty state", query=name
                    )
                )
            when = before.since if before is not None and stayed else came
            if when is not None:
                since[name] = when
            if before is not None and stayed and before.folded:
                folded.add(name)
        if record.times != self._times() and not problems:
            message = f"the state was made for events with the times {record.times}, not {self._times()}"
            problems.append(
                Problem("TW311", message, "resume with the column that made it, or start with an empty state")
            )
        if problems:
            raise DataError(problems)
        return Roster(self.programs, since, frozenset(folded))


def rewrite_rows(rows: pa.Table, needs: Needs, events: pa.Schema) -> pa.Table:
    """Rows of one workload as rows of another: made again from the columns of events that they hold.

    Queries that stayed read columns that were read before. Others are not there since those rows came, so that what was
    not kept for them is NULL.

    Args:
        rows: Rows that hold every column that was read (`plan_rows(..., whole=True)`).
        needs: What the queries of the other workload need together.
        events: The columns of events.

    Returns:
        The rows that the other workload takes.
    """
    columns: dict[str, pa.ChunkedArray | pa.Array] = {}
    for name in needs.read:
        kept = TIME if name == needs.time else name_column(st.Attribute((name,)))
        columns[name] = _read_again(rows, kept, events.field(name).type)
    along = [name for name in _ALONG if name in rows.column_names]
    columns |= {name: rows.column(name) for name in along}
    return prepare_rows(needs, pa.table(columns), along)[0]


def _read_again(rows: pa.Table, name: str, kind: pa.DataType) -> pa.ChunkedArray | pa.Array:
    """A column in its type of now. Where that is another one, no query that stayed reads it."""
    if name in rows.column_names:
        try:
            return rows.column(name).cast(kind)
        except pa.ArrowException:
            pass
    return pa.nulls(rows.num_rows, kind)


def keep_carries(
    carry: Mapping[str, pa.Table], keys: Sequence[str], renamed: Sequence[tuple[str, str]] = ()
) -> dict[str, pa.Table]:
    """Only what is carried under one of these keys. What is carried under a key that was renamed is there under the
    other, unless there is something under that, which is the same."""
    taken = {name.split("/", 1)[0] for name in carry}
    changes = {before: after for before, after in renamed if before in taken and after not in taken}
    named = ((*name.split("/", 1), table) for name, table in carry.items())
    found = ((changes.get(key, key), own, table) for key, own, table in named)
    return {f"{key}/{own}": table for key, own, table in found if key in keys}
