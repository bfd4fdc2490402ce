"""What an engine computes per row or event before any kernel runs: columns by name, and who may be read as what; for
situations one word of conditions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import cast

from trendweave.language import syntax_tree as st
from trendweave.language.interval_tree import PREV
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.matches.conditions import match_columns
from trendweave.planning.plan import AnchorPlan, EdgePlan, Path, Plan
from trendweave.planning.predicates import rewrite_columns


@dataclass(frozen=True, slots=True)
class ComparedColumns:
    """`previous op next`, as names of prepared columns."""

    previous: str
    operator: st.ComparisonOperator
    next: str


@dataclass(frozen=True, slots=True)
class PreparedEdge:
    """The conditions of an edge of the plan; in `general`, names of prepared columns stand for paths."""

    comparisons: tuple[ComparedColumns, ...]
    general: tuple[st.Expression, ...]


@dataclass(frozen=True, slots=True)
class Preparation:
    """Parallel to the plan: `readable` to its variables, `edges` to its edges, `values` to its aggregates, `shown` to
    the attributes that it shows, `matched` to what its conditions on whole matches compute, `anchors` to its
    conditions on earlier events. `shown_types` is the type of events, where those of any type are shown. `ties` are
    the columns that order events of one time; without them such events never follow each other."""

    columns: tuple[tuple[str, st.Expression], ...]
    readable: tuple[st.Expression | None, ...]
    partition_key: tuple[str, ...]
    bound_keys: tuple[str, ...]
    edges: tuple[PreparedEdge, ...]
    values: tuple[str | None, ...]
    shown: tuple[str, ...]
    matched: tuple[str | None, ...] = ()
    anchors: tuple[PreparedEdge, ...] = ()
    ties: tuple[str, ...] = ()
    shown_types: tuple[str, ...] = ()


@dataclass(slots=True)
class _Columns:
    """Gives each different expression a name."""

    names: dict[st.Expression, str] = field(default_factory=dict)

    def name(self, expression: st.Expression) -> str:
        return self.names.setdefault(expression, f"c{len(self.names)}")

    def name_of_path(self, path: Path) -> str:
        return self.name(st.value_at(path))


def prepare(plan: Plan, type_: str | None = None) -> Preparation:
    """Name what is computed per row; `type_` is the column of types, where there is one."""
    columns = _Columns()
    reads_any = any(variable.type is None and not variable.negated for variable in plan.variables)
    shows_types = type_ is not None and plan.returns in ("trends", "rows") and reads_any

    def rename(node: st.Attribute | st.NextAttribute) -> st.Expression:
        name = columns.name_of_path(node.names)
        return st.NextAttribute(node.variable, (name,)) if isinstance(node, st.NextAttribute) else st.Attribute((name,))

    def rename_anchored(node: st.Attribute | st.NextAttribute) -> st.Expression:
        if isinstance(node, st.NextAttribute):
            return rename(node)
        return st.Attribute((node.names[0], columns.name_of_path(node.names[1:])))

    def prepare_edge(edge: EdgePlan | AnchorPlan, renamed: Callable[..., st.Expression]) -> PreparedEdge:
        return PreparedEdge(
            tuple(
                ComparedColumns(columns.name(comparison.previous), comparison.operator, columns.name(comparison.next))
                for comparison in edge.comparisons
            ),
            tuple(rewrite_columns(expression, renamed) for expression in edge.general),
        )

    edges = tuple(prepare_edge(edge, rename) for edge in plan.edges)
    anchors = tuple(prepare_edge(condition, rename_anchored) for condition in plan.anchors)
    return Preparation(
        readable=tuple(_make_condition(plan, variable.name, variable.local) for variable in plan.variables),
        partition_key=tuple(columns.name_of_path(key.path) for key in plan.partition_key),
        bound_keys=tuple(columns.name_of_path(key.path) for key in plan.bound_keys),
        edges=edges,
        anchors=anchors,
        values=tuple(
            None if aggregate.path is None else columns.name_of_path(aggregate.path) for aggregate in plan.aggregates
        ),
        shown=tuple(columns.name_of_path(attribute.path) for attribute in plan.shown),
        matched=tuple(
            None if column.path is None else columns.name_of_path(column.path)
            for column in match_columns(plan.match_conditions).values()
        ),
        shown_types=(columns.name_of_path((type_,)),) if shows_types and type_ is not None else (),
        columns=tuple((name, expression) for expression, name in columns.names.items()),
    )


def order_ties(preparation: Preparation, names: tuple[str, ...]) -> Preparation:
    """The same with columns of the events that order those of one time."""
    if not names:
        return preparation
    columns = _Columns({expression: name for name, expression in preparation.columns})
    ties = tuple(columns.name_of_path((name,)) for name in names)
    return replace(preparation, ties=ties, columns=tuple((name, found) for found, name in columns.names.items()))


def _make_condition(plan: Plan, variable: str, local: tuple[st.Expression, ...]) -> st.Expression | None:
    """The condition, apart from the type, under which a row can be read as a variable; None where there is none."""
    known_keys = tuple(
        st.IsNull(st.Attribute(key.path), negated=True)
        for key in plan.bound_keys
        if key.variable == variable and not key.nullable
    )
    conditions = (*local, *known_keys)
    return st.all_of(conditions) if conditions else None


@dataclass(frozen=True, slots=True)
class IntervalPreparation:
    """`columns` are those that travel along, by their new names. `now[k]` is condition k over the events' own columns,
    None where it looks back; `later[k]` is such a condition over new names, in which `back` are values of the previous
    step: expressions over new names themselves."""

    columns: tuple[tuple[str, Path], ...]
    keys: tuple[str, ...]
    now: tuple[st.Expression | None, ...]
    later: tuple[st.Expression | None, ...]
    back: tuple[tuple[str, st.Expression], ...]
    values: tuple[str | None, ...]

    @property
    def looked_back_at(self) -> tuple[str, ...]:
        """Columns that conditions which look back read."""
        expressions = [*(expression for _, expression in self.back), *(one for one in self.later if one is not None)]
        names = (node.names[0] for one in expressions for node in one.walk() if isinstance(node, st.Attribute))
        own = {name for name, _ in self.columns}
        return tuple(name for name in dict.fromkeys(names) if name in own)


def prepare_intervals(plan: IntervalPlan) -> IntervalPreparation:
    names: dict[Path, str] = {}
    back: dict[st.Expression, str] = {}

    def name_of(path: Path) -> str:
        return names.setdefault(path, f"c{len(names)}")

    def rename(node: st.Attribute) -> st.Expression:
        return st.Attribute((name_of(node.names),))

    keys = tuple(name_of(path) for path in plan.partition_by)
    now: list[st.Expression | None] = []
    later: list[st.Expression | None] = []
    for situation in plan.situations:
        condition = situation.condition
        looks_back = situation.looks_back and condition is not None
        now.append(None if looks_back else condition)
        later.append(
            _without_prev(rewrite_columns(condition, rename), back) if looks_back and condition is not None else None
        )
    values = tuple(None if output.path is None else name_of(output.path) for output in plan.outputs)
    return IntervalPreparation(
        columns=tuple((name, path) for path, name in names.items()),
        keys=keys,
        now=tuple(now),
        later=tuple(later),
        back=tuple((name, expression) for expression, name in back.items()),
        values=values,
    )


def _without_prev(node: st.Expression, back: dict[st.Expression, str]) -> st.Expression:
    """Each PREV(x) becomes a column of its own."""
    if isinstance(node, st.Call) and node.function == PREV:
        return st.Attribute((back.setdefault(node.arguments[0], f"p{len(back)}"),))
    return cast("st.Expression", st.copy_node(node, lambda part: _without_prev(part, back)))
