"""Tree -> plan of a trend query whose events lie in situations, and the way from any tree to its plan."""

from __future__ import annotations

from collections.abc import Iterator

from trendweave.errors import Problem, near_names
from trendweave.language import syntax_tree as st
from trendweave.language.interval_printer import print_situated
from trendweave.language.interval_tree import IntervalReturn, IntervalTree, SituatedTree, Tree
from trendweave.language.syntax_tree import Attribute, During, Span, during_column, problem_at
from trendweave.planning.interval_planner import make_interval_plan
from trendweave.planning.plan import Plan
from trendweave.planning.planner import make_plan
from trendweave.planning.situated_plan import QueryPlan, SituatedPlan


def plan_query(tree: Tree, problems: list[Problem]) -> QueryPlan | None:
    """The plan of a query of any kind, or None when problems were added to the list."""
    match tree:
        case SituatedTree():
            return make_situated_plan(tree, problems)
        case IntervalTree():
            return make_interval_plan(tree, problems)
        case _:
            return make_plan(tree, problems)


def make_situated_plan(tree: SituatedTree, problems: list[Problem]) -> SituatedPlan | None:
    """The plan, or None when problems were added to the list."""
    _check_situations(tree, problems)
    of_trend: list[Problem] = []
    trend = make_plan(tree.trend, of_trend)
    of_situations: list[Problem] = []
    situations = make_interval_plan(derive_interval_tree(tree, trend), of_situations) if tree.situations else None
    problems += [*of_trend, *of_situations]
    if problems or trend is None or situations is None:
        return None
    columns = tuple(map(during_column, situations.names))
    return SituatedPlan(print_situated(tree), trend, situations, columns)


def derive_interval_tree(tree: SituatedTree, trend: Plan | None) -> IntervalTree:
    """The interval query that finds the situations: those of the partitions of the trend."""
    keys = () if trend is None else tuple(Attribute(key.path) for key in trend.partition_key)
    return IntervalTree(
        source=tree.source,
        partition_by=keys,
        situations=tree.situations,
        returns=IntervalReturn("situations"),
        span=Span(0, 1, 1, 1),
    )


def _check_situations(tree: SituatedTree, problems: list[Problem]) -> None:
    defined = [situation.name for situation in tree.situations]
    named = list(_find_during(tree.trend.where))
    for condition in named:
        if condition.situation not in defined:
            hint = near_names(condition.situation, defined) or f"the query defines {', '.join(defined) or 'none'}"
            span = condition.situation_span or condition.span
            problems.append(problem_at(span, "TW251", f"unknown situation {condition.situation}", hint))
    if not isinstance(tree.source, str | None):
        message = "a trend needs events; FROM INTERVALS has none"
        problems.append(problem_at(tree.span, "TW256", message, "name the type of events: FROM Sensor"))
    if not named:
        message = "no condition of the trend names a situation that the query defines"
        hint = "say which events lie in one, as in WHERE S DURING X; or leave FROM and DEFINE out"
        problems.append(problem_at(tree.span, "TW256", message, hint))


def _find_during(conditions: tuple[st.Expression, ...]) -> Iterator[During]:
    for condition in conditions:
        yield from (node for node in condition.walk() if isinstance(node, During))
