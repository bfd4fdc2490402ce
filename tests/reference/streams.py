"""Hypothesis strategies: random patterns, queries that cross all features, and streams to run them on.

Everything drawn is legal by the semantics: edge predicates stand between possible neighbours, NOTs inside SEQ, and a
negated pattern neither begins nor ends with NOT nor can be empty. Drawn things are small, and shrink to smaller ones.

Attributes of the streams: `x` integer, `y` double, `s` string, `k` small integer key, `g` string group.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from .pattern import (
    And,
    Event,
    Not,
    Or,
    Pattern,
    Repeat,
    Seq,
    bounds,
    can_be_empty,
    can_end_with_not,
    can_follow_all,
    either,
    leaves,
    matched_parts,
    neighbours,
    option,
    plus,
    seq,
    star,
    variable_types,
    words,
)
from .query import (
    ANY_MATCH,
    CONTIGUOUS,
    COUNT_ALL,
    LENGTH,
    NEXT_MATCH,
    AfterMatch,
    Aggregate,
    Anchor,
    Anchored,
    Arithmetic,
    Attribute,
    Calculated,
    Column,
    Constant,
    Edge,
    Expression,
    Having,
    Local,
    Moving,
    Order,
    Output,
    Query,
    Session,
    Sliding,
    Whole,
    mirrored,
    order_is_understood,
)

NUMBERS, KEYS = ("x", "y"), ("k", "g", "s")

# Leaves with and without a variable, one and two variables of a type. A type without a variable is nowhere given one.
LEAVES = (
    (Event("A"), Event("B"), Event("C")),
    (Event("A", "a"), Event("B", "b"), Event("C", "c")),
    (Event("A", "a"), Event("A", "aa"), Event("B", "b")),
    (Event("A", "a"), Event("B", "b"), Event("B", "bb"), Event("C")),
    (Event("A"),),
    (Event("A", "a"), Event("B", "b"), Event(None, "x")),
)
# Under a NOT: types of their own, and a type that trends have too.
NEGATED_LEAVES = (Event("N"), Event("M", "m"), Event(None, "anything"))
NEGATED_LEAF_OF_A_SHARED_TYPE = Event("A", "na")


def _rarely(draw: DrawFn, one_in: int) -> bool:
    return draw(st.integers(0, one_in - 1)) == one_in - 1


# ------------------------------------------------------------------------------------------------------------- patterns


@st.composite
def repeats(draw: DrawFn, body: SearchStrategy[Pattern]) -> Repeat:
    low, high = draw(st.sampled_from([(1, None), (1, None), (0, None), (0, 1), (2, None), (1, 2), (2, 3), (0, 2)]))
    return Repeat(draw(body), low, high)


@cache
def positive_patterns(pool: tuple[Event, ...], max_leaves: int = 4) -> SearchStrategy[Pattern]:
    """Patterns without NOT over these leaves. A leaf, and with it a variable, may occur several times."""
    leaf = st.sampled_from(pool)
    return st.recursive(
        st.one_of(leaf, repeats(leaf)),
        lambda inner: st.one_of(
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: Seq(tuple(parts))),
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: Seq(tuple(parts))),
            st.lists(inner, min_size=2, max_size=2, unique=True).map(lambda parts: Or(tuple(parts))),
            repeats(inner),
        ),
        max_leaves=max_leaves,
    )


@st.composite
def negated_patterns(draw: DrawFn, pool: tuple[Event, ...], nots: bool = False) -> Pattern:
    """What may stand under a NOT; one in five times with a NOT of its own. No leaf occurs twice.

    With `nots`, that NOT may come first or last in a match, because what is before or after it may be left out.
    """
    first, second, *others = draw(st.permutations(pool))
    shape = draw(st.sampled_from(["one", "one", "two", "either", "plus", "nested"] + ["optional"] * 4 * nots))
    if shape == "nested" and others:
        return Seq((first, Not(others[0]), second))
    if shape == "optional":
        return draw(
            st.sampled_from(
                [
                    Seq((first, Not(second), Repeat(others[0], 0, 1))),
                    Seq((Repeat(first, 0, 1), Not(second), others[0])),
                    Seq((first, Not(second), Repeat(others[0], 0, None))),
                    Seq((Repeat(Seq((first, Not(second))), 0, 1), others[0])),
                ]
            )
            if others
            else st.sampled_from(
                [Seq((first, Not(second), Repeat(first, 0, 1))), Seq((Repeat(first, 0, 1), Not(second), first))]
            )
        )
    if shape == "either":
        return Or((first, second))
    if shape == "plus":
        return Seq((Repeat(first, 1, None), second))
    return first if shape == "one" else Seq((first, second))


@st.composite
def patterns(
    draw: DrawFn, negation: bool | None = None, max_leaves: int = 4, empty: bool = True, nots: bool = False
) -> Pattern:
    """Patterns with one or two NOTs, without any, or (None) either. `empty=False`: none that can match nothing.

    With `nots`, two of them may guard one gap, and those under a NOT may come first or last.
    """
    pool = draw(st.sampled_from(LEAVES))
    positive = positive_patterns(pool, max_leaves)
    pattern = draw(positive if empty else positive.filter(lambda drawn: not can_be_empty(drawn)))
    if negation is None:
        negation = _rarely(draw, 3)
    if not negation:
        return pattern
    unnamed = any(leaf == Event("A") for leaf in pool)
    negated = NEGATED_LEAVES + (() if unnamed else (NEGATED_LEAF_OF_A_SHARED_TYPE,))
    if not _has_seq(pattern):
        pattern = Seq((pattern,))
    pattern = _with_not(draw, pattern, negated, nots)
    used = {leaf.name for leaf, under_not in leaves(pattern) if under_not}
    unused = tuple(leaf for leaf in negated if leaf.name not in used)
    # The second NOT is a leaf, and names a variable of its own.
    return _with_not(draw, pattern, unused, nots) if unused and _rarely(draw, 2 if nots else 4) else pattern


def _has_seq(pattern: Pattern) -> bool:
    match pattern:
        case Seq():
            return True
        case Or(alternatives=parts):
            return any(_has_seq(part) for part in parts)
        case Repeat(body=body):
            return _has_seq(body)
    return False


def _with_not(draw: DrawFn, pattern: Pattern, pool: tuple[Event, ...], nots: bool) -> Pattern:
    """The pattern with one NOT more, somewhere in one of its SEQs; without `nots` never directly next to another."""
    match pattern:
        case Repeat(body=body, low=low, high=high):
            return Repeat(_with_not(draw, body, pool, nots), low, high)
        case Or(alternatives=parts):
            place = draw(st.sampled_from([i for i, part in enumerate(parts) if _has_seq(part)]))
            return Or((*parts[:place], _with_not(draw, parts[place], pool, nots), *parts[place + 1 :]))
        case Seq(parts=parts):
            deeper = [i for i, part in enumerate(parts) if _has_seq(part)]
            if deeper and draw(st.booleans()):
                place = draw(st.sampled_from(deeper))
                return Seq((*parts[:place], _with_not(draw, parts[place], pool, nots), *parts[place + 1 :]))
            free = [
                i
                for i in range(len(parts) + 1)
                if nots or not any(isinstance(p, Not) for p in parts[max(i - 1, 0) : i + 1])
            ]
            if not free:
                return pattern
            place = draw(st.sampled_from(free))
            body = draw(negated_patterns(pool, nots) if len(pool) >= 2 else st.sampled_from(pool))
            return Seq((*parts[:place], Not(body), *parts[place:]))
    raise TypeError(pattern)


# -------------------------------------------------------------------------------------------------------------- queries


# Mostly such that a good part of the events passes: a query without trends tests little.
MANY_COMPARISONS = ("<", "<=", ">", ">=", "!=", "<=", ">=", "!=", "=")


@cache
def constants() -> SearchStrategy[Constant]:
    return st.sampled_from([1, 0, 2, 0.5, 1.5]).map(Constant)


@cache
def limits() -> SearchStrategy[Constant]:
    return st.sampled_from([0, 1, -1, 0.5, -0.75]).map(Constant)


@st.composite
def _sides(draw: DrawFn, later: bool) -> Expression:
    """`S.x`, or `S.x * 1.5`"""
    column = Column(draw(st.sampled_from(NUMBERS)), later)
    if not _rarely(draw, 3):
        return column
    return Arithmetic(column, draw(st.sampled_from("+-*/")), draw(constants()))


@st.composite
def local_predicates(draw: DrawFn, variable: str) -> Local:
    comparison = draw(st.sampled_from(MANY_COMPARISONS))
    if _rarely(draw, 4):
        return Local(variable, Column("s"), comparison, Constant(draw(st.sampled_from(["p", "q"]))))
    return Local(variable, draw(_sides(False)), comparison, draw(limits()))


@st.composite
def neighbour_predicates(draw: DrawFn, pattern: Pattern) -> Edge | Anchor:
    """Between two variables that can be neighbours, one of which the other always directly follows."""
    direct = [pair for pair in sorted(neighbours(pattern)) if pair[0] == pair[1] or _always_neighbours(pattern, *pair)]
    if not direct:
        return draw(st.sampled_from(sorted(neighbours(pattern))).flatmap(lambda pair: local_predicates(pair[0])))
    earlier, later = draw(st.sampled_from(direct))
    comparison, right = draw(st.sampled_from(MANY_COMPARISONS)), Constant(0)
    shape = draw(st.sampled_from(["order", "order", "text", "product"]))
    if shape == "order":
        left, right = draw(_sides(False)), draw(_sides(True))
    elif shape == "text":
        left, right = Column("s"), Column("s", later=True)
    else:
        operator, names = draw(st.sampled_from("+-*/")), draw(st.tuples(*[st.sampled_from(NUMBERS)] * 2))
        left = Arithmetic(Column(names[0]), operator, Column(names[1], later=True))
        right = draw(limits())
    if shape != "product" and draw(st.booleans()):
        left, right = right, left
    if earlier == later:
        return Edge(earlier, left, comparison, right)
    return _written(Anchor(later, _anchored(left, earlier), comparison, _anchored(right, earlier)), pattern)


def _anchored(side: Expression, earlier: str) -> Expression:
    """The side of an Edge, with the earlier of the two events as an anchor."""
    match side:
        case Column(attribute=attribute, later=later):
            return Column(attribute) if later else Anchored("LATEST", earlier, attribute)
        case Arithmetic(left=left, operator=operator, right=right):
            return Arithmetic(_anchored(left, earlier), operator, _anchored(right, earlier))
    return side


def _always_neighbours(pattern: Pattern, earlier: str, later: str) -> bool:
    """Is the latest `earlier` before a `later` always directly before it? (In words of up to six letters.)"""
    spelled = {word for part in matched_parts(pattern) for word in words(part, 6)}
    before = [word[:place] for word in spelled for place, letter in enumerate(word) if letter == later]
    return all(earlier not in word or word[-1] == earlier for word in before)


def _written(condition: Anchor, pattern: Pattern) -> Anchor:
    """The condition, or the other way round if only that can be written."""
    return condition if order_is_understood(condition, pattern) else mirrored(condition)


@st.composite
def anchor_predicates(draw: DrawFn, pattern: Pattern) -> Anchor:
    """On variables that can stand before another, neighbours or not, in a trend or in a match of a NOT."""
    part = draw(st.sampled_from([part for part in matched_parts(pattern) if variable_types(part)]))
    names = sorted(variable_types(part))
    about = draw(st.sampled_from(names))
    earlier = [name for name in names if can_follow_all(part, about, frozenset([name]))]
    if not earlier:
        return draw(local_predicates(about))
    anchors = [draw(_anchors(about, draw(st.sampled_from(earlier))))]
    if (about, about) in neighbours(part) and _rarely(draw, 5):
        anchors = [Anchored("PREV", about, draw(st.sampled_from(NUMBERS)))]
    elif _rarely(draw, 4):
        more = draw(_anchors(about, draw(st.sampled_from(earlier))))
        if can_follow_all(part, about, frozenset({anchors[0].variable, more.variable})):
            anchors.append(more)
    comparison = draw(st.sampled_from(MANY_COMPARISONS))
    if len(anchors) == 1 and _rarely(draw, 4):
        anchor = replace(anchors[0], attribute="s")
        condition = Anchor(about, anchor, comparison, Column("s"))
    elif len(anchors) == 1 and _rarely(draw, 3):
        operator = draw(st.sampled_from("+-*/"))
        condition = Anchor(about, Arithmetic(anchors[0], operator, draw(constants())), comparison, draw(_sides(False)))
    elif len(anchors) == 1:
        condition = Anchor(about, anchors[0], comparison, draw(_sides(False)))
    else:
        operator = draw(st.sampled_from("+-*"))
        condition = Anchor(about, Arithmetic(anchors[0], operator, anchors[1]), comparison, draw(_sides(False)))
    swapped = mirrored(condition)
    if draw(st.booleans()) and order_is_understood(swapped, pattern):
        return swapped
    return _written(condition, pattern)


@cache
def _anchors(about: str, variable: str) -> SearchStrategy[Anchored]:
    """A plain `S.x` in a condition on S is the event itself: of earlier ones, FIRST and LAST speak."""
    which = ["FIRST", "LAST"] if variable == about else ["LATEST", "LATEST", "FIRST", "LAST"]
    return st.builds(Anchored, st.sampled_from(which), st.just(variable), st.sampled_from(NUMBERS))


@st.composite
def attributes(draw: DrawFn, variables: tuple[str, ...]) -> tuple[Attribute, ...]:
    """None, one or two attributes of different names; one in three is bound to one variable."""
    drawn = draw(st.lists(st.sampled_from(KEYS), max_size=2, unique=True))
    return tuple(Attribute(name, draw(st.sampled_from(variables)) if _rarely(draw, 3) else None) for name in drawn)


@cache
def _different_aggregates(variables: tuple[str, ...]) -> SearchStrategy[list[Aggregate]]:
    over_attributes = st.builds(
        Aggregate, st.sampled_from(["SUM", "MIN", "MAX", "AVG"]), st.sampled_from(variables), st.sampled_from(NUMBERS)
    )
    one = st.one_of(
        st.just(COUNT_ALL), st.builds(Aggregate, st.just("COUNT"), st.sampled_from(variables)), over_attributes
    )
    return st.lists(one, min_size=1, max_size=4, unique_by=lambda aggregate: aggregate.column)


@st.composite
def aggregates(draw: DrawFn, variables: Sequence[str], lengths: bool = False) -> tuple[Aggregate, ...]:
    drawn = draw(_different_aggregates(tuple(variables)))
    if _rarely(draw, 6):
        drawn[0] = replace(drawn[0], name="renamed")
    if lengths and draw(st.booleans()):
        function = draw(st.sampled_from(["SUM", "MIN", "MAX", "AVG"]))
        drawn.append(Aggregate(function, attribute=LENGTH, name="of_lengths"))
    return tuple(drawn)


@cache
def _exact_aggregates(variables: tuple[str, ...], of_one: bool) -> SearchStrategy[Aggregate]:
    """Those whose values do not depend on the way in which they are calculated. Of one trend there is no COUNT(*)."""
    variable, attribute = st.sampled_from(variables), st.sampled_from(NUMBERS)
    return st.one_of(
        st.just(Aggregate(LENGTH) if of_one else COUNT_ALL),
        st.builds(Aggregate, st.just("COUNT"), variable),
        st.builds(Aggregate, st.sampled_from(["SUM", "MIN", "MAX", "AVG"]), variable, attribute),
        st.builds(Aggregate, st.just("COUNT"), variable, st.sampled_from("xys"), distinct=st.just(True)),
    )


@cache
def _calculated(variables: tuple[str, ...], of_one: bool = False) -> SearchStrategy[Expression]:
    """`SUM(P.x) / COUNT(*)`, `MAX(P.x) + 1`, `AVG(P.x)`"""
    one, operator = _exact_aggregates(variables, of_one), st.sampled_from("+-*/")
    return st.one_of(
        one,
        st.builds(Arithmetic, one, operator, one),
        st.builds(Arithmetic, one, operator, constants()),
    )


@st.composite
def calculations(draw: DrawFn, variables: Sequence[str], of_one: bool = False) -> tuple[Output, ...]:
    """One, two or three outputs that are more than an aggregate, of many trends or `of_one`."""
    variable, attribute = st.sampled_from(variables), st.sampled_from("xys")
    possible = [
        Calculated(draw(_calculated(tuple(variables), of_one)), "calculated"),
        Aggregate("COUNT", draw(variable), draw(attribute), "different", distinct=True),
        Aggregate("STDDEV", draw(variable), draw(st.sampled_from(NUMBERS)), "deviation"),
    ]
    if of_one:
        possible += values_of_one(draw(variable), draw(attribute), draw(st.sampled_from(NUMBERS)))
    return tuple(draw(st.lists(st.sampled_from(possible), min_size=1, unique=True)))


def values_of_one(variable: str, attribute: str, number: str) -> list[Aggregate]:
    """What one trend says of its events of one variable: single ones, all values, and what lies between them."""
    return [
        Aggregate("NTH", variable, attribute, "second", parameter=2),
        Aggregate("NTH", variable, attribute, "last_but_one", parameter=-2),
        Aggregate("COLLECT_LIST", variable, attribute, "listed"),
        Aggregate("COLLECT_SET", variable, attribute, "listed_once"),
        Aggregate("MEDIAN", variable, number, "median"),
        Aggregate("PERCENTILE", variable, number, "percentile", parameter=0.9),
    ]


@cache
def having_conditions(variables: tuple[str, ...]) -> SearchStrategy[Having]:
    comparison = st.sampled_from(MANY_COMPARISONS)
    return st.builds(Having, _calculated(variables), comparison, limits())


@st.composite
def orders(
    draw: DrawFn, variables: Sequence[str], group_by: tuple[Attribute, ...] = (), of_one: bool = False
) -> tuple[Order, ...]:
    value: SearchStrategy[Expression] = _calculated(tuple(variables), of_one)
    if group_by:
        value |= st.sampled_from(group_by)
    return tuple(draw(st.lists(st.builds(Order, value, st.booleans()), min_size=1, max_size=2)))


@st.composite
def choices(draw: DrawFn, variables: tuple[str, ...]) -> tuple[AfterMatch | None, str | None]:
    """AFTER MATCH SKIP, LONGEST or SHORTEST PER START, or both."""
    after_match = draw(
        st.sampled_from([None, AfterMatch("past last"), AfterMatch("next")])
        | st.builds(AfterMatch, st.sampled_from(["first", "last"]), st.sampled_from(variables))
    )
    return after_match, draw(st.sampled_from(["longest", "shortest"] + [None] * (after_match is not None)))


@st.composite
def whole_conditions(draw: DrawFn, pattern: Pattern) -> Whole:
    """An aggregate of a match and a number or the latest event of a variable, or two events that are its first or last.

    A condition on one variable's event and on the FIRST or LAST of another is one on whole matches only where that
    other never comes before.
    """
    variables = sorted(variable_types(pattern))
    one, other = draw(st.sampled_from(variables)), draw(st.sampled_from(variables))
    comparison = draw(st.sampled_from(MANY_COMPARISONS))
    shape = draw(st.sampled_from(["count", "aggregate", "aggregate and event", "ends"]))
    if shape == "count":
        return Whole(Aggregate("COUNT", one), comparison, Constant(draw(st.integers(0, 3))))
    calculated = Aggregate(
        draw(st.sampled_from(["SUM", "MIN", "MAX", "AVG", "MEDIAN"])), one, draw(st.sampled_from(NUMBERS))
    )
    if shape == "aggregate":
        return Whole(calculated, comparison, draw(limits()))
    event = Aggregate("LAST", other, draw(st.sampled_from(NUMBERS)), plain=True)
    if shape == "aggregate and event":
        return Whole(calculated, comparison, event)
    end = Aggregate(draw(st.sampled_from(["FIRST", "LAST"])), one, draw(st.sampled_from(NUMBERS)))
    if draw(st.integers(0, 3)) == 0:
        second = Aggregate("NTH", one, end.attribute, parameter=draw(st.sampled_from([1, 2, -2])))
        return Whole(second, comparison, event)
    never_before = one != other and not can_follow_all(pattern, other, frozenset([one]))
    if never_before and can_follow_all(pattern, one, frozenset([other])):
        return Whole(end, comparison, event)
    return Whole(end, comparison, Aggregate("LAST", other, draw(st.sampled_from(NUMBERS))))


@st.composite
def time_windows(
    draw: DrawFn, moving: bool | None = None, session: bool = False, windowed: bool = False
) -> Sliding | Moving | Session | None:
    if session:
        return Session(draw(st.sampled_from([2, 3, 1, 6])))
    within = draw(st.sampled_from([10, 1, 2, 4, 6, 8, 10, 12]))
    kinds = {None: ["none", "none", "sliding", "sliding", "moving"], False: ["none", "sliding"], True: ["moving"]}
    kind = draw(st.sampled_from([kind for kind in kinds[moving] if kind != "none" or not windowed]))
    if kind == "none":
        return None
    return Moving(within) if kind == "moving" else Sliding(within, draw(st.integers(1, within)))


@st.composite
def queries(
    draw: DrawFn,
    negation: bool | None = None,
    conjunction: bool | None = None,
    empty: bool = True,
    lists: bool = False,
    moving: bool | None = None,
    anchors: bool = False,
    choice: bool = False,
    whole: bool = False,
    complete: bool = False,
    session: bool = False,
    nots: bool = False,
    moving_pairs: bool = False,
    calculated: bool = False,
    ordered: bool = False,
    windowed: bool = False,
    pattern: Pattern | None = None,
) -> Query:
    """Queries of all features. Conjunctions (None: one in ten) have COUNT(*) alone, no moving window, no `T.g`.

    lists: for TRENDS, EACH and ROWS. They may have a trailing NOT under `WITHIN w` alone, which aggregates may not.
    moving: all of them under `WITHIN w` alone, or none.
    anchors: with conditions between variables that are not always neighbours.
    choice: with AFTER MATCH SKIP or PER START. whole: with conditions on whole matches. complete: half are COMPLETE.
    Aggregates with one of these have no moving window, and some are about the length of trends.
    session: all of them WITHIN SESSION.
    nots: with several NOTs in a gap, with NOTs that begin or end with a NOT where a part is left out.
    moving_pairs: conjunctions under `WITHIN w` alone.
    calculated: with STDDEV, COUNT(DISTINCT ...), calculations and HAVING. ordered: with ORDER BY, LIMIT or not.
    windowed: all of them in windows of time, as streams need them.
    pattern: all of them have this one.
    """
    if conjunction is None:
        conjunction = _rarely(draw, 10)
    strategies = [NEXT_MATCH, CONTIGUOUS] if choice else [ANY_MATCH, ANY_MATCH, ANY_MATCH, NEXT_MATCH, CONTIGUOUS]
    strategy = draw(st.sampled_from(strategies))
    if pattern is not None:
        conjunction = isinstance(pattern, And)
    elif conjunction:
        side = positive_patterns(draw(st.sampled_from(LEAVES)), max_leaves=2)
        pattern = And(draw(side), draw(side))
    else:
        pattern = draw(patterns(True if nots else negation, empty=empty, nots=nots))
    trend_variables = tuple(sorted(variable_types(pattern)))
    all_variables = tuple(sorted({leaf.name for leaf, _ in leaves(pattern)}))
    predicates = []
    if _rarely(draw, 3):
        predicates += draw(st.lists(st.sampled_from(all_variables).flatmap(local_predicates), min_size=1, max_size=2))
    if neighbours(pattern) and _rarely(draw, 2):
        predicates += draw(st.lists(neighbour_predicates(pattern), min_size=1, max_size=2))
    if anchors and not _rarely(draw, 4):
        predicates += draw(st.lists(anchor_predicates(pattern), min_size=1, max_size=2))
    if whole:
        predicates += draw(st.lists(whole_conditions(pattern), min_size=1, max_size=2))
    after_match, per_start = draw(choices(trend_variables)) if choice else (None, None)
    is_complete = complete and draw(st.booleans())
    chooses = choice or whole or is_complete
    group_by, window = draw(attributes(trend_variables)), draw(time_windows(moving, session, windowed))
    if isinstance(window, Moving) and not lists and (chooses or can_end_with_not(pattern)):
        window = Sliding(window.within, window.within)
    if conjunction:
        group_by = tuple(attribute for attribute in group_by if attribute.variable is None)
        if isinstance(window, Moving) and not moving_pairs:
            window = Sliding(window.within, window.within) if windowed else None
    group_by = group_by if _rarely(draw, 3) or (ordered and draw(st.booleans())) else ()
    outputs: tuple[Output, ...] = (COUNT_ALL,) if conjunction else draw(aggregates(trend_variables, chooses))
    if calculated:
        outputs += draw(calculations(trend_variables))
    return Query(
        pattern=pattern,
        aggregates=outputs,
        predicates=tuple(predicates),
        equivalence=draw(attributes(all_variables)) if _rarely(draw, 3) else (),
        group_by=group_by,
        window=window,
        strategy=strategy,
        complete=is_complete,
        after_match=after_match,
        per_start=per_start,
        having=draw(st.lists(having_conditions(trend_variables), max_size=2).map(tuple)) if calculated else (),
        order_by=draw(orders(trend_variables, group_by)) if ordered else (),
        limit=draw(st.sampled_from([1, 2, 3, None])) if ordered else None,
    )


# -------------------------------------------------------------------------------------------------------------- streams


def _or_null(values: SearchStrategy, one_in: int = 12) -> SearchStrategy:
    return st.integers(0, one_in - 1).flatmap(lambda n: st.none() if n == one_in - 1 else values)


def event_rows(types: Sequence[str]) -> SearchStrategy[dict]:
    """One row, yet without a time. Doubles are multiples of a quarter: every order of summation gives the same sum."""
    return _event_rows(tuple(types))


@cache
def _event_rows(types: tuple[str, ...]) -> SearchStrategy[dict]:
    quarters = st.integers(-6, 6).map(lambda n: n / 4)
    return st.fixed_dictionaries(
        {
            "type": st.sampled_from(types),
            "x": _or_null(st.integers(-2, 3)),
            "y": _or_null(st.one_of(quarters, quarters, quarters, st.just(math.nan))),
            "s": _or_null(st.sampled_from(["p", "q", "r"])),
            "k": _or_null(st.integers(1, 2)),
            "g": _or_null(st.sampled_from(["u", "v"])),
        }
    )


@st.composite
def event_streams(draw: DrawFn, pattern: Pattern, max_events: int = 8, null_rows: bool = True) -> list[dict]:
    """Rows of the pattern's types, and of a type nobody asked for: ties, bursts, pauses; the order of rows is free.

    Some rows stand there twice, some (unless `null_rows` is False) have no time or no type. Times may be negative.
    """
    types = sorted({leaf.type for leaf, _ in leaves(pattern) if leaf.type is not None}) * 3 + ["Z"]
    # The larger of two: Hypothesis likes the first of a list, and an empty stream tests little.
    sizes = [min(size, max_events) for size in (0, 1, 3, 5, 6, max_events, max_events)]
    size = max(draw(st.tuples(st.sampled_from(sizes), st.sampled_from(sizes))))
    rows = draw(st.lists(event_rows(types), min_size=size, max_size=size))
    time = draw(st.integers(-4, 3))
    for place, row in enumerate(rows):
        time += draw(st.sampled_from([1, 1, 1, 0, 0, 2, 5]))
        rows[place] = {"time": time, **row}
    if len(rows) >= 2 and _rarely(draw, 6):
        rows[-1] = dict(rows[0])
    if rows and null_rows and _rarely(draw, 10):
        rows[0]["time" if draw(st.booleans()) else "type"] = None
    return draw(st.permutations(rows)) if _rarely(draw, 3) else rows


@st.composite
def queries_and_streams(draw: DrawFn, max_events: int = 8, **options: bool | None) -> tuple[Query, list[dict]]:
    """A query (see `queries` for the options) and a stream for it."""
    query = draw(queries(**options))
    return query, draw(event_streams(query.pattern, max_events))


# Patterns that most streams of their types have many trends of.
_A, _AA, _B, _C, _N, _M = (Event(name[0].upper(), name) for name in ("a", "aa", "b", "c", "n", "m"))
FRUITFUL = (
    plus(_A),
    bounds(_A, 2, 3),
    seq(_A, plus(_B)),
    seq(plus(_A), _B),
    plus(either(_A, _B)),
    plus(seq(_A, option(_B))),
    seq(_A, star(_B), option(_C)),
    seq(plus(_A), star(_B)),
    seq(plus(_AA), plus(_A)),
    seq(_A, star(_AA)),
    either(plus(_A), seq(_A, _B)),
    seq(option(_A), plus(_B), option(_C)),
)
FRUITFUL_WITH_NOT = (
    seq(_A, Not(_N), plus(_B)),
    seq(Not(_N), plus(_A)),
    seq(plus(_A), Not(_N)),
    seq(plus(_A), Not(_N), option(_B)),
    seq(_A, Not(seq(_N, _M)), star(_B)),
    plus(seq(_A, Not(_N), option(_B))),
    either(seq(Not(_N), _A), seq(_A, _B, Not(_M))),
    seq(_A, Not(_N), Not(_M), star(either(_A, _B))),
)


@st.composite
def fruitful_streams(draw: DrawFn, pattern: Pattern, max_events: int = 8) -> list[dict]:
    """As `event_streams`, with more events that trends are made of."""
    types = sorted({leaf.type or "Z" for leaf, negated in leaves(pattern) if not negated})
    others = sorted({leaf.type or "Z" for leaf, negated in leaves(pattern) if negated})
    rows = draw(st.lists(event_rows(types * 5 + others * 2 + ["Z"]), min_size=max_events - 3, max_size=max_events))
    time = draw(st.integers(-3, 3))
    for place, row in enumerate(rows):
        time += draw(st.sampled_from([1, 1, 1, 0, 2, 3]))
        rows[place] = {"time": time, **row}
    return rows


@st.composite
def crossed_cases(draw: DrawFn, lists: bool, windowed: bool = False, **options: bool) -> tuple[Query, list[dict]]:
    """Queries in which the features of matches meet, and streams for them. `windowed`: all that streams can run."""
    fruitful = not _rarely(draw, 4)
    pattern = draw(st.sampled_from(FRUITFUL + FRUITFUL_WITH_NOT)) if fruitful else draw(patterns(empty=False))
    choice, complete = draw(st.booleans()), _rarely(draw, 3)
    query = draw(
        queries(
            conjunction=False,
            lists=lists,
            anchors=_rarely(draw, 3),
            choice=choice,
            whole=(lists or choice) and _rarely(draw, 3),
            complete=complete,
            session=_rarely(draw, 4),
            pattern=pattern,
            **options,
        )
    )
    if fruitful:
        kept = tuple(p for p in query.predicates if not isinstance(p, Local) and not _rarely(draw, 3))
        query = replace(query, predicates=kept)
        if isinstance(query.window, Sliding | Moving):
            query = replace(query, window=replace(query.window, within=query.window.within + 4))
    if windowed and query.window is None:
        query = replace(query, window=Sliding(10, draw(st.sampled_from([10, 3, 5]))))
    return query, draw(fruitful_streams(pattern) if fruitful else event_streams(pattern))


@st.composite
def groups_of_beginnings(draw: DrawFn, lists: bool, **options: bool) -> tuple[Query, list[dict]]:
    """Queries under skip-till-next-match with groups by attributes of a variable that only begins trends, whose events
    are thus never skipped; and streams for them."""
    first, other = Event("A", "f"), Event(draw(st.sampled_from("ABC")), "h")
    rest = draw(st.one_of(st.none(), patterns(negation=_rarely(draw, 3)), st.sampled_from(FRUITFUL)))
    if rest is not None and any(leaf.name == leaf.type for leaf, _ in leaves(rest)):
        rest = draw(st.sampled_from([plus(_B), star(_A), seq(_A, option(_B)), seq(_B, _C)]))
    begin = draw(st.sampled_from([first, first, either(first, other), option(first)]))
    begin = first if rest is None or (can_be_empty(rest) and can_be_empty(begin)) else begin
    pattern = begin if rest is None else seq(begin, rest)
    query = draw(queries(conjunction=False, lists=lists, anchors=_rarely(draw, 3), pattern=pattern, **options))
    groups = tuple(Attribute(name, "f") for name in draw(st.sampled_from([("g",), ("k",), ("g", "k")])))
    if _rarely(draw, 4):
        groups += (Attribute("s"),)
    equivalence = tuple(attribute for attribute in query.equivalence if attribute.variable != "f")
    return replace(query, group_by=groups, equivalence=equivalence, strategy=NEXT_MATCH), draw(
        fruitful_streams(pattern)
    )
