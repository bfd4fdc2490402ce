"""Build trend queries in Python."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from trendweave.build.arguments import check_all, read_attributes, read_length, refuse
from trendweave.build.outputs import read_outputs
from trendweave.build.patterns import check_pattern
from trendweave.build.scalars import Scalar, read_order
from trendweave.errors import Problem, near_names, raise_problems
from trendweave.language import syntax_tree as st
from trendweave.language.functions import STRATEGIES
from trendweave.language.printer import print_query
from trendweave.queries import Query, make_query


def query(
    pattern: st.Pattern,
    *,
    returns: st.Return | Iterable[st.Output | str] | None = None,
    where: Iterable[Scalar] = (),
    group_by: Iterable[str] = (),
    semantics: str | None = None,
    within: str | timedelta | None = None,
    slide: str | timedelta | None = None,
    session: str | timedelta | None = None,
    after_match: st.AfterMatch | None = None,
    per_start: st.PerStart | None = None,
    having: Iterable[Scalar] = (),
    order_by: Iterable[Scalar | st.OrderItem | str] = (),
    choice: st.Choice | None = None,
) -> Query:
    """Check and plan a trend query.

    Args:
        pattern: The pattern, made by `event`, `seq`, `plus`, ...
        returns: A list of outputs and names of grouping attributes, or the result of `trends`, `rows`, `each` or
            `complete`; by default complete trends.
        where: Conditions, combined by AND.
        group_by: Grouping attributes.
        semantics: The event selection strategy, such as "skip-till-next-match".
        within: The length of windows, as a string such as "10 minutes" or a timedelta.
        slide: The slide of the windows.
        session: The pause that ends a session window, instead of `within` and `slide`.
        after_match: The result of `after_match`.
        per_start: "longest" or "shortest": one of the trends that begin with the same event.
        having: Conditions on rows, combined by AND; `value_of(count()) > 1`, `attr("mean") > 2`.
        order_by: Expressions and names of outputs to order the rows of a window by; `descending("mean")`.
        choice: The result of `limit`, `longest` or `sample`.

    Returns:
        The same query as from its text.

    Raises:
        ArgumentError: An argument has a wrong type.
        TrendweaveError: The query has no meaning, or cannot be planned; all problems together.
    """
    problems: list[Problem] = []
    check_pattern(pattern, "query: pattern")
    if returns is not None and not isinstance(returns, st.Return):
        returns = st.Return("aggregates", read_outputs(returns, "returns"))
    if semantics is not None and semantics not in STRATEGIES:
        hint = near_names(str(semantics), STRATEGIES) or f"one of {', '.join(STRATEGIES)}"
        problems.append(Problem("TW111", f"unknown event selection strategy {semantics}", hint))
    if choice is not None and not isinstance(choice, st.Choice):
        raise refuse("query: choice", choice, "a choice", "give limit(10), longest(10) or sample(10)")
    if after_match is not None and not isinstance(after_match, st.AfterMatch):
        raise refuse("query: after_match", after_match, "a place", 'give after_match("past last")')
    if per_start not in (None, "longest", "shortest"):
        raise refuse("query: per_start", per_start, "one of both", 'give "longest" or "shortest"')
    if session is not None and within is not None:
        message = "a window ends after a pause, or has a length"
        problems.append(Problem("TW115", message, "give session or within, not both"))
    kept = check_all(having, Scalar, "having", "give a list: having=[value_of(count()) > 10]")
    conditions = check_all(where, Scalar, "where", "give a list: where=[attr('S.price') > 10]")
    tree = st.QueryTree(
        pattern=pattern,
        returns=returns,
        where=_split_conditions(conditions),
        group_by=read_attributes(group_by, "group_by"),
        strategy=semantics,
        within=read_length(within if session is None else session, "query: within", problems),
        session=session is not None,
        after_match=after_match,
        per_start=per_start,
        having=_split_conditions(kept),
        order_by=read_order(order_by),
        slide=read_length(slide, "query: slide", problems),
        choice=choice,
    )
    raise_problems(problems)
    return make_query(tree, problems, print_query(tree))


def _split_conditions(conditions: tuple[Scalar, ...]) -> tuple[st.Expression, ...]:
    """The parts of conditions that are joined by AND."""
    return tuple(
        inner
        for part in (condition.tree for condition in conditions)
        for inner in (part.parts if isinstance(part, st.AllOf) else (part,))
    )
