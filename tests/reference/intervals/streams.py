"""Hypothesis strategies: interval queries that cross all features, and events or intervals to run them on.

Most queries are planted: intervals of the names are drawn first, the constraints are such that they hold of these
intervals, and the conditions hold of the events inside them, but for some noise. Random constraints on random events
would hardly ever match. Everything drawn is legal, but for constraints that can never hold together: an engine may
refuse those or give no rows; `relations.can_hold` tells them apart.

Attributes of events: `a` to `e`, one for each name, `s` string, `k` small integer, `g` string; see COLUMN_TYPES.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from .query import (
    COUNT_ALL,
    Aggregate,
    Arithmetic,
    Both,
    Column,
    Comparison,
    Condition,
    Constant,
    Constraint,
    Definition,
    Either,
    IsNull,
    Not,
    PartitionAttribute,
    Previous,
    Query,
    Return,
)
from .relations import INVERSE, RELATIONS, Interval, can_hold, relation_of

NAMES = ("A", "B", "C", "D", "E")
#: For tables without rows. Times may be negative; rows without a time are not events.
COLUMN_TYPES = {
    "time": int,
    "a": int,
    "b": float,
    "c": int,
    "d": float,
    "e": int,
    "s": str,
    "k": int,
    "g": str,
}
INTERVAL_COLUMN_TYPES = {"name": str, "start": int, "end": int, "k": int, "g": str}

#: Relations that begin alike: with all three of them, a constraint is certain when both situations have begun.
ALIKE = (
    ("starts", "equals", "started-by"),
    ("overlaps", "finished-by", "contains"),
    ("overlapped-by", "finishes", "during"),
)

# The first is what Hypothesis shrinks to. NaN is larger than every number, NULL makes no condition hold.
INSIDE = {int: (1, 2, 3), float: (0.5, 1.0, 1.5, 0.75, math.nan)}
OUTSIDE = {int: (0, -1, None), float: (0.0, -0.5, -0.25, None)}

LAST_STEP = 9


def _rarely(draw: DrawFn, one_in: int) -> bool:
    return draw(st.integers(0, one_in - 1)) == one_in - 1


def _or_null(values: SearchStrategy, one_in: int = 10) -> SearchStrategy:
    return st.integers(0, one_in - 1).flatmap(lambda n: st.none() if n == one_in - 1 else values)


# -------------------------------------------------------------------------------------------------------------- pattern


@st.composite
def planted_intervals(draw: DrawFn, min_names: int, max_names: int) -> dict[str, Interval]:
    """One interval for each name, counted in steps; shared ends are frequent, because many relations want them."""
    count = draw(st.sampled_from([n for n in (2, 3, 2, 4, 3, 5) if min_names <= n <= max_names]))
    planted: dict[str, Interval] = {}
    for name in NAMES[:count]:
        used = sorted({end for interval in planted.values() for end in interval})
        anywhere = st.integers(0, LAST_STEP)
        point = st.one_of(anywhere, st.sampled_from(used)) if used else anywhere
        start, end = sorted((draw(point), draw(point)))
        planted[name] = (start, end) if start < end else (max(start - 1, 0), max(start - 1, 0) + 1)
    return planted


@st.composite
def constraint_sets(
    draw: DrawFn, planted: dict[str, Interval], consistent: bool | None = None
) -> tuple[Constraint, ...]:
    """Consistent: they hold of the planted intervals. Else they never hold together. None: mostly consistent."""
    names = list(planted)
    pairs = _pairs(draw, draw(st.permutations(names)))
    if consistent is None:
        consistent = not _rarely(draw, 8)
    if not consistent:
        drawn = [Constraint(left, _random_relations(draw), right) for left, right in pairs]
        if not can_hold(names, drawn):
            return tuple(drawn)
        # Twice the same pair, with nothing in common.
        left, right = pairs[0]
        relations = _random_relations(draw)
        others = tuple(relation for relation in RELATIONS if relation not in relations)
        opposite = tuple(draw(st.lists(st.sampled_from(others), min_size=1, max_size=3, unique=True)))
        return (*drawn[1:], Constraint(left, relations, right), Constraint(left, opposite, right))
    if _rarely(draw, 8):
        pairs.append(draw(st.sampled_from(pairs)))
    constraints = []
    for left, right in pairs:
        relations = _with_others(draw, relation_of(planted[left], planted[right]))
        constraint = Constraint(left, relations, right)
        if draw(st.booleans()):
            constraint = Constraint(right, tuple(INVERSE[relation] for relation in relations), left)
        constraints.append(constraint)
    return tuple(constraints)


def _pairs(draw: DrawFn, names: list[str]) -> list[tuple[str, str]]:
    """A chain, a star, all pairs, or some pairs, so that names stay free or fall into groups."""
    every = list(itertools.combinations(names, 2))
    shape = draw(st.sampled_from(["chain", "star", "all", "some"]))
    if shape == "chain":
        return list(itertools.pairwise(names))
    if shape == "star":
        return [(names[0], other) for other in names[1:]]
    if shape == "all":
        return every
    return draw(st.lists(st.sampled_from(every), min_size=1, max_size=len(names), unique=True))


def _random_relations(draw: DrawFn) -> tuple[str, ...]:
    return tuple(draw(st.lists(st.sampled_from(RELATIONS), min_size=1, max_size=3, unique=True)))


def _with_others(draw: DrawFn, relation: str) -> tuple[str, ...]:
    """The relation alone, with any others, with all that begin alike, or with all."""
    shape = draw(st.sampled_from(["alone", "others", "alike", "alike", "all"]))
    others: tuple[str, ...] = ()
    if shape == "others":
        others = _random_relations(draw)
    elif shape == "alike":
        others = tuple(other for group in ALIKE if relation in group for other in group)
        others += _random_relations(draw) if _rarely(draw, 3) else ()
    elif shape == "all":
        others = RELATIONS
    return tuple(draw(st.permutations(sorted({relation, *others}))))


# ---------------------------------------------------------------------------------------------------------- definitions


@st.composite
def conditions(draw: DrawFn, name: str, others: list[str], previous: bool = True) -> Condition:
    """Mostly true inside the planted interval of the name; one in three times something else."""
    column = Column(name.lower())
    limit = Constant(0) if COLUMN_TYPES[column.attribute] is int else Constant(draw(st.sampled_from([0.0, 0.25, 0])))
    plain = Comparison(column, ">", limit)
    if not _rarely(draw, 3):
        return plain
    prior = Previous(column.attribute)
    other = Column(draw(st.sampled_from(others)).lower())
    forms = [
        Comparison(Constant(0), "<", column),
        Comparison(column, "!=", Constant(0)),
        Comparison(Arithmetic(column, "*", Constant(2)), ">=", Constant(0.5)),
        Not(Comparison(column, "<=", limit)),
        Both(plain, IsNull(Column("s"), negated=True)),
        Both(plain, Comparison(other, ">", Constant(0))),
        Either(plain, Comparison(other, ">", Constant(1))),
        Either(plain, IsNull(column)),
        Not(Both(Comparison(column, "<=", limit), Comparison(Column("s"), "=", Constant("q")))),
        Either(plain, Comparison(Column("s"), "=", Constant("r"))),
    ]
    if previous:
        forms += [
            Comparison(column, ">=", prior),
            Comparison(column, ">", prior),
            Comparison(Arithmetic(column, "-", prior), ">=", Constant(0)),
            Either(plain, Comparison(prior, ">", Constant(0))),
            IsNull(prior),
        ]
    return draw(st.sampled_from(forms))


@st.composite
def bounded(draw: DrawFn, definition: Definition, length: int) -> Definition:
    """With a duration that fits a situation of about this length, or does not; half of them without."""
    shape = draw(st.sampled_from(["none", "none", "none", "least", "most", "between"]))
    low = draw(st.integers(1, max(length + 1, 1))) if shape in ("least", "between") else None
    high = max(low or 0, draw(st.integers(max(length - 1, 1), length + 8))) if shape in ("most", "between") else None
    return replace(definition, at_least=low, at_most=high)


# -------------------------------------------------------------------------------------------------------------- queries


@st.composite
def _returns(draw: DrawFn, names: list[str], partition_by: tuple[str, ...], events: bool) -> tuple[Return, ...]:
    possible: list[Return] = [PartitionAttribute(attribute) for attribute in partition_by] * 3
    possible += [Aggregate("DURATION", name) for name in names]
    if events:
        possible += [Aggregate("COUNT", name) for name in names]
        functions = ("FIRST", "LAST", "COUNT", "MIN", "MAX", "SUM", "AVG")
        attributes = [*(name.lower() for name in names), "s", "k"]
        possible += [
            Aggregate(function, name, attribute)
            for function, name, attribute in itertools.product(functions, names, attributes)
            if attribute != "s" or function not in ("SUM", "AVG")
        ]
    drawn = draw(st.lists(st.sampled_from(possible), min_size=1, max_size=4, unique_by=lambda chosen: chosen.column))
    if _rarely(draw, 6):
        drawn[0] = replace(drawn[0], renamed="renamed")
    return tuple(drawn)


@st.composite
def _clauses(
    draw: DrawFn,
    query: Query,
    kind: str | None,
    at_end: bool | None,
    partition_by: tuple[str, ...],
    events: bool,
    windowed: bool = False,
) -> Query:
    """The query with everything that does not depend on the planted intervals."""
    if kind is None:
        kind = draw(st.sampled_from(["matches"] * 6 + ["windows", "situations"]))
    within = draw(st.sampled_from([30, 20, 15, 12, 8, 5, 2] if windowed else [None, 30, None, 20, 15, 12, 8, 5, 2]))
    query = replace(query, partition_by=partition_by, at_end=draw(st.booleans()) if at_end is None else at_end)
    if kind == "situations":
        return replace(query, constraints=(), return_situations=True)
    if kind == "windows":
        within = within or 20
        attributes = draw(st.lists(st.sampled_from(partition_by), unique=True)) if partition_by else []
        returns = (*map(PartitionAttribute, attributes), COUNT_ALL)
        return replace(query, within=within, every=draw(st.integers(1, within)), returns=returns)
    names = [definition.name for definition in query.definitions]
    return replace(query, within=within, returns=draw(_returns(names, partition_by, events)))


PARTITIONS = ((), (), ("k",), ("g",), ("k", "g"))


@st.composite
def queries_and_events(
    draw: DrawFn,
    min_names: int = 2,
    max_names: int = 5,
    kind: str | None = None,
    at_end: bool | None = None,
    consistent: bool | None = None,
    previous: bool = True,
    ties: bool = True,
    null_rows: bool = True,
    partitions: bool = True,
    own_columns: bool = False,
    windowed: bool = False,
) -> tuple[Query, list[dict]]:
    """A query and events for it.

    `kind` is "matches", "windows" (COUNT(*) EVERY) or "situations"; None is any of them, also for `at_end` and
    `consistent`. `previous=False` leaves out PREV, `ties=False` gives all events of a partition different times,
    `own_columns` makes the conditions of different names independent of each other. `windowed`: all that streams can
    run.
    """
    planted = draw(planted_intervals(min_names, max_names))
    plain, unbounded = own_columns or draw(st.booleans()), draw(st.booleans())
    definitions = []
    for name, (start, end) in planted.items():
        if plain:
            condition = Comparison(Column(name.lower()), ">", Constant(0))
        else:
            condition = draw(conditions(name, [other for other in planted if other != name], previous))
        definition = Definition(name, condition)
        definitions.append(definition if unbounded else draw(bounded(definition, end - start)))
    query = Query(tuple(definitions), draw(constraint_sets(planted, consistent)))
    partition_by = draw(st.sampled_from(PARTITIONS)) if partitions else ()
    query = draw(_clauses(query, kind, at_end, partition_by, events=True, windowed=windowed))
    return query, draw(_events(planted, partition_by, ties, null_rows))


# --------------------------------------------------------------------------------------------------------------- events


@st.composite
def _events(
    draw: DrawFn, planted: dict[str, Interval], partition_by: tuple[str, ...], ties: bool, null_rows: bool
) -> list[dict]:
    """One to three partitions; none, one or few events now and then; rows in any order."""
    shape = draw(st.sampled_from(["many"] * 10 + ["none", "one"]))
    if shape == "none":
        return []
    groups = draw(st.integers(1, 3)) if partition_by else 1
    rows: list[dict] = []
    for _ in range(groups):
        rows += draw(_partition(planted, ties))
    if shape == "one":
        return rows[:1]
    if not ties:
        return _without_ties(rows, partition_by)
    if len(rows) >= 2 and _rarely(draw, 8):
        rows.append(dict(rows[draw(st.integers(0, len(rows) - 1))]))
    if null_rows and _rarely(draw, 8):
        rows[draw(st.integers(0, len(rows) - 1))]["time"] = None
    return list(draw(st.permutations(rows))) if _rarely(draw, 3) else rows


def _without_ties(rows: list[dict], partition_by: tuple[str, ...]) -> list[dict]:
    seen, kept = set(), []
    for row in rows:
        key = (row["time"], *(row[name] for name in partition_by))
        if key not in seen:
            seen.add(key)
            kept.append(row)
    return kept


@st.composite
def _partition(draw: DrawFn, planted: dict[str, Interval], ties: bool) -> list[dict]:
    """Events at each step of the planted intervals, perhaps of them twice, with more intervals and a little noise.

    Often cut off, so that situations still run at the end.
    """
    keys = {"k": draw(_or_null(st.integers(1, 2))), "g": draw(_or_null(st.sampled_from(["u", "v"])))}
    again = [0, LAST_STEP + 1 + draw(st.integers(0, 1))] if _rarely(draw, 3) else [0]
    steps = again[-1] + LAST_STEP + 1 + draw(st.integers(0, 3))
    if _rarely(draw, 3):
        steps = draw(st.integers(1, steps))
    intervals = [
        (name.lower(), (start + shift, end + shift)) for shift in again for name, (start, end) in planted.items()
    ]
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, steps - 1))
        intervals.append((draw(st.sampled_from(sorted(planted))).lower(), (start, start + draw(st.integers(1, 3)))))
    noise = draw(st.dictionaries(st.tuples(st.integers(0, steps - 1), st.sampled_from("abcde")), st.none(), max_size=2))
    rows, time = [], draw(st.integers(-4, 3))
    for step in range(steps):
        choices = _Choices(draw(MANY_CHOICES))
        gap, tie = choices.next((1, 1, 1, 2, 3)), choices.next((False,) * 8 + (True,))
        for _ in range(2 if tie and ties else 1):
            row: dict = {"time": time}
            for column in ("a", "b", "c", "d", "e"):
                inside = any(column == c and start <= step < end for c, (start, end) in intervals)
                row[column] = choices.next(_values(column, column.upper() in planted, inside, (step, column) in noise))
            rows.append({**row, "s": choices.next(("p", "q", "p", "r", None)), **keys})
        time += gap
    return rows


def _values(column: str, used: bool, inside: bool, noisy: bool) -> tuple:
    kind = COLUMN_TYPES[column]
    if not used:
        return (kind(0),)
    if noisy:
        return (None, kind(0), kind(1))
    return (INSIDE if inside else OUTSIDE)[kind]


MANY_CHOICES = st.integers(0, 10**12)


class _Choices:
    """Many choices from one drawn number, which is much faster than a draw for each; 0 chooses the first always."""

    def __init__(self, number: int) -> None:
        self.number = number

    def next(self, values: tuple) -> object:
        self.number, place = divmod(self.number, len(values))
        return values[place]


# ------------------------------------------------------------------------------------------------------- from intervals


@st.composite
def queries_and_intervals(
    draw: DrawFn,
    min_names: int = 2,
    max_names: int = 5,
    kind: str | None = None,
    at_end: bool | None = None,
    consistent: bool | None = None,
    null_rows: bool = True,
    overlapping: bool = False,
) -> tuple[Query, list[dict]]:
    """A query FROM INTERVALS and intervals for it, disjoint in each name and partition unless `overlapping`."""
    planted = draw(planted_intervals(min_names, max_names))
    definitions = [Definition(name) for name in planted]
    if draw(st.booleans()):
        definitions = [draw(bounded(Definition(name), end - start)) for name, (start, end) in planted.items()]
    query = Query(tuple(definitions), draw(constraint_sets(planted, consistent)), from_intervals=True)
    partition_by = draw(st.sampled_from(PARTITIONS))
    query = draw(_clauses(query, kind, at_end, partition_by, events=False))
    if not query.constraints:
        query = replace(query, definitions=tuple(replace(d, at_least=d.at_least or 1) for d in query.definitions))
    return query, draw(_interval_rows(planted, partition_by, null_rows, overlapping))


@st.composite
def _interval_rows(
    draw: DrawFn, planted: dict[str, Interval], partition_by: tuple[str, ...], null_rows: bool, overlapping: bool
) -> list[dict]:
    rows: list[dict] = []
    taken: dict[tuple, list[Interval]] = {}
    for _ in range(draw(st.integers(1, 3)) if partition_by else 1):
        keys = {"k": draw(_or_null(st.integers(1, 2))), "g": draw(_or_null(st.sampled_from(["u", "v"])))}
        shift = draw(st.integers(-4, 3))
        drawn = [(name, start, end) for name, (start, end) in planted.items() if not _rarely(draw, 12)]
        for _ in range(draw(st.integers(0, 4))):
            start = draw(st.integers(0, LAST_STEP + 3))
            drawn.append((draw(st.sampled_from([*planted, "Z"])), start, start + draw(st.integers(1, 5))))
        for name, start, end in drawn:
            others = taken.setdefault((name, *(keys[key] for key in partition_by)), [])
            interval = (start + shift, end + shift if not _rarely(draw, 10) else math.inf)
            if overlapping or all(interval[1] <= other[0] or other[1] <= interval[0] for other in others):
                others.append(interval)
                stop = None if interval[1] == math.inf else interval[1]
                rows.append({"name": name, "start": interval[0], "end": stop, **keys})
    if rows and null_rows and _rarely(draw, 8):
        rows[0]["start" if draw(st.booleans()) else "name"] = None
    return list(draw(st.permutations(rows))) if _rarely(draw, 3) else rows
