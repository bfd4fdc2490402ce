"""What an engine computes per row before any kernel runs: columns by name, and who may be read as what.

The runner's own engine (Arrow, Spark SQL) evaluates these row expressions, so no kernel ever sees an expression. The
same expression is computed once, however often the query uses it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from trendweave.language import syntax_tree as st
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
