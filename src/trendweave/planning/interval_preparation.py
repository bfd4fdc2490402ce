"""What an engine computes per event before situations are derived: one word of conditions, and the columns that are
needed later.

Conditions that look back (PREV) wait until the rows of a partition are together and in order; their columns travel
along as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from trendweave.language import syntax_tree as st
from trendweave.language.interval_tree import PREV
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.plan import Path
from trendweave.planning.predicates import rewrite_columns


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
