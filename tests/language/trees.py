"""Hypothesis strategies for syntax trees. Trees need not make sense; they must survive printing and parsing."""

from __future__ import annotations

from hypothesis import strategies as hs
from hypothesis.strategies import SearchStrategy

from trendweave.language import syntax_tree as st
from trendweave.language.functions import AGGREGATES, EACH_AGGREGATES, NTH, SCALAR_FUNCTIONS, STRATEGIES

names = hs.sampled_from(
    [
        "A",
        "b",
        "price",
        "Stock",
        "select",
        "case",
        "End",
        "next",
        "TRENDS",
        "limit",
        "Seed",
        "Each",
        "seq",
        "x1",
        "_",
        "größe",
        "a b",
        "1st",
        "`",
        "a.b",
    ]
) | hs.text(hs.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)
variables = hs.none() | names
paths = hs.lists(names, min_size=1, max_size=3).map(tuple)
attributes = paths.map(st.Attribute)
durations = hs.integers(1, 2**62).map(st.Duration) | hs.sampled_from([10**9, 6 * 10**10, 86_400 * 10**9]).map(
    st.Duration
)

# Patterns


def _repeat(body: SearchStrategy[st.Pattern]) -> SearchStrategy[st.Pattern]:
    bounds = hs.sampled_from([(1, None), (0, None), (0, 1), (3, 3), (2, 5), (0, 0)]) | hs.integers(0, 9).map(
        lambda low: (low, None)
    )
    return hs.builds(lambda inner, bound: st.Repeat(inner, *bound), body, bounds)


def _pattern_layer(inner: SearchStrategy[st.Pattern]) -> SearchStrategy[st.Pattern]:
    several = hs.lists(inner, min_size=2, max_size=3).map(tuple)
    return hs.one_of(
        hs.lists(inner, min_size=1, max_size=3).map(lambda parts: st.Sequence(tuple(parts))),
        several.map(st.Alternatives),
        several.map(st.Conjunction),
        inner.map(st.Negation),
        _repeat(inner),
    )


types = hs.none() | hs.sampled_from(["ANY", "any"]) | names
patterns = hs.recursive(hs.builds(st.EventPattern, types, variables), _pattern_layer, max_leaves=8)

# Expressions

literals = hs.one_of(
    hs.none(),
    hs.booleans(),
    hs.integers(-(2**63), 2**63 - 1),
    hs.floats(allow_nan=False, allow_infinity=False),
    hs.text(hs.characters(exclude_categories=["Cs"]), max_size=8),
).map(st.Literal)


def _aggregate(function: str, argument: st.Attribute | None) -> st.Aggregate:
    """A percentile has a share, which is part of it."""
    return (
        st.Aggregate(function, argument or st.Attribute(("A",)), parameter=0.25)
        if function == "PERCENTILE"
        else st.Aggregate(function, argument)
    )


def _nth(variable: str, path: tuple[str, ...], number: int) -> st.Aggregate:
    return st.Aggregate(NTH, st.Attribute((variable, *path)), parameter=number)


parameters = hs.sampled_from(["threshold", "within", "größe", "_1"])
lengths = durations | parameters.map(lambda name: st.LengthParameter(None, name))
scalars = hs.one_of(
    literals,
    parameters.map(st.Parameter),
    attributes,
    hs.builds(st.NextAttribute, names, paths),
    hs.builds(st.PreviousAttribute, names, paths),
    hs.builds(_aggregate, hs.sampled_from(EACH_AGGREGATES), attributes),
    hs.builds(_nth, names, paths, hs.integers(-3, 10**18 - 1).filter(bool)),
    hs.integers(-(10**15), 10**16).map(st.TimestampLiteral),
    hs.integers(-100_000, 100_000).map(st.DateLiteral),
    durations,
)


def _call(function: str, arguments: tuple[st.Expression, ...]) -> st.Call:
    """The unit of DATE_TRUNC and the digits of ROUND are parts of the function, and no values: others are refused."""
    if len(arguments) == 2 and function == "DATE_TRUNC":
        arguments = (st.Literal("DAY"), arguments[1])
    if len(arguments) == 2 and function == "ROUND":
        arguments = (arguments[0], st.Literal(2))
    return st.Call(function, arguments)


def _calculated(operator: str, column: tuple[str, ...], value: st.Literal) -> st.Calculated:
    return st.Calculated(st.Arithmetic(operator, st.Attribute(("A", *column)), value), "A")


calculated = hs.builds(_calculated, hs.sampled_from("+-*/%"), paths, literals)


def _expression_layer(inner: SearchStrategy[st.Expression]) -> SearchStrategy[st.Expression]:
    several = hs.lists(inner, min_size=2, max_size=3).map(tuple)
    some = hs.lists(inner, min_size=1, max_size=3).map(tuple)
    return hs.one_of(
        inner.map(st.negative),
        hs.builds(st.Arithmetic, hs.sampled_from("+-*/%"), inner, inner),
        hs.builds(st.Comparison, hs.sampled_from(["<", "<=", ">", ">=", "=", "!="]), inner, inner),
        several.map(st.all_of),
        several.map(st.any_of),
        inner.map(st.Inverse),
        hs.builds(st.InList, inner, some, hs.booleans()),
        hs.builds(st.Between, inner, inner, inner, hs.booleans()),
        hs.builds(st.IsNull, inner, hs.booleans()),
        hs.builds(st.Like, inner, hs.text("ab%_'\\", max_size=5), hs.booleans()),
        hs.builds(st.RLike, inner, hs.text("ab.'", max_size=5), hs.booleans()),
        hs.builds(_call, hs.sampled_from(sorted(SCALAR_FUNCTIONS)), some),
        hs.builds(st.Cast, inner, hs.sampled_from(["BIGINT", "DOUBLE"])),
        hs.builds(
            st.Case, hs.lists(hs.builds(st.When, inner, inner), min_size=1, max_size=2).map(tuple), hs.none() | inner
        ),
    )


expressions = hs.recursive(scalars, _expression_layer, max_leaves=10)
equivalences = hs.lists(attributes, min_size=1, max_size=3).map(lambda parts: st.Equivalence(tuple(parts)))

# Queries


def _return(kind: st.ReturnKind, known: tuple[str, ...]) -> SearchStrategy[st.Return]:
    aggregates = hs.builds(_aggregate, hs.sampled_from(known), hs.none() | attributes | calculated)
    distinct = hs.builds(st.Aggregate, hs.just("COUNT"), attributes | calculated, hs.just(True))
    quotients = hs.builds(st.Arithmetic, hs.sampled_from("+-*/"), aggregates, aggregates | attributes)
    values = aggregates | distinct | attributes | quotients
    outputs = hs.lists(hs.builds(st.Output, values, variables), min_size=1, max_size=3)
    return hs.builds(lambda listed, complete: st.Return(kind, tuple(listed), complete=complete), outputs, hs.booleans())


returns = hs.one_of(
    hs.none(),
    _return("aggregates", AGGREGATES),
    _return("each", EACH_AGGREGATES),
    hs.builds(
        lambda kind, shown, complete: st.Return(kind, attributes=tuple(shown), complete=complete),
        hs.sampled_from(["trends", "rows"]),
        hs.lists(attributes, max_size=2),
        hs.booleans(),
    ),
)
choices = hs.one_of(
    hs.none(),
    hs.builds(st.Choice, hs.sampled_from(["limit", "longest"]), hs.integers(1, 10**18 - 1)),
    hs.builds(st.Choice, hs.just("sample"), hs.integers(1, 9), hs.none() | hs.integers(0, 10**18 - 1)),
)
conjuncts = (expressions | equivalences).filter(lambda node: not isinstance(node, st.AllOf))
queries = hs.builds(
    st.QueryTree,
    pattern=patterns,
    returns=returns,
    where=hs.lists(conjuncts, max_size=3).map(tuple),
    group_by=hs.lists(attributes, max_size=2).map(tuple),
    strategy=hs.none() | hs.sampled_from(STRATEGIES),
    within=hs.none() | lengths,
    slide=hs.none() | lengths,
    choice=choices,
    session=hs.booleans(),
    after_match=hs.none()
    | hs.builds(st.AfterMatch, hs.sampled_from(["past last", "next"]))
    | hs.builds(st.AfterMatch, hs.sampled_from(["first", "last"]), names),
    per_start=hs.sampled_from([None, "longest", "shortest"]),
    having=hs.lists(conjuncts.filter(lambda node: not isinstance(node, st.Equivalence)), max_size=2).map(tuple),
    order_by=hs.lists(hs.builds(st.OrderItem, expressions, hs.booleans()), max_size=2).map(tuple),
).filter(lambda tree: tree.within is not None or not tree.session)
