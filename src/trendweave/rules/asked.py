"""Rules that are asked to run somewhere: what the places have to know of a workload."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trendweave.errors import ExecutionError, Problem, TrendweaveError, raise_problems, raise_together, tell_once
from trendweave.events import AUTO, Schema, TypeColumn, check_column_names, schema_of
from trendweave.planning import IntervalPlan, QueryPlan
from trendweave.queries import find_time_columns
from trendweave.rules.rule import Rule, check_all_bound

if TYPE_CHECKING:
    import pyarrow as pa

    from trendweave.programs.program import Program
    from trendweave.runners.options import Settings
    from trendweave.runners.place import Place
    from trendweave.sharing.units import SharingPlan
    from trendweave.store.patterns.plan_access import Wish


@dataclass(frozen=True, slots=True)
class AskedRules:
    """The rules of a workload with the columns of time and type, as the places take them.

    Attributes:
        rules: All of them, in order.
        find_sharing: Gives the plan of what is computed together, which takes a while to make.
        time: The column that holds the time.
        type: The column that holds the type.
        of_trends: The one that trends read where none is given.
    """

    rules: tuple[Rule, ...]
    find_sharing: Callable[[], SharingPlan]
    time: str
    type: TypeColumn
    of_trends: str | None = "type"

    def __post_init__(self) -> None:
        check_column_names(self.time, self.type)
        check_all_bound(self.rules)

    @property
    def time_columns(self) -> tuple[str, ...]:
        found = (find_time_columns(rule.query.plan, self.time) for rule in self.rules)
        return tuple(dict.fromkeys(name for names in found for name in names))

    def settings(
        self, place: Place, options: Mapping[str, Any], read_setting: Callable[[str], str | None] | None
    ) -> Settings:
        from trendweave.runners.options import make_settings

        return make_settings(self._plans(), place, options, read_setting, "workload")

    def tell(self, events: pa.Table, rows: int) -> None:
        from trendweave.runners.nothing_found import tell_of_rules

        tell_of_rules(self._plans(), events, self._type_column, rows)

    def order(self, rows: pa.Table) -> pa.Table:
        from trendweave.results.united_columns import in_order

        return in_order(rows, tuple(rule.name for rule in self.rules))

    def check(self, schema: Any) -> None:
        from trendweave.sharing.units import checked_with_others

        columns = schema_of(schema)
        # Queries that differ in constants of the same kinds fit, or do not, together.
        plans = self.find_sharing()
        like_others = {plans.plans[member].text for unit in plans.units for member in checked_with_others(unit)}
        few = [rule for rule in self.rules if rule.query.plan.text not in like_others]
        errors = self._find_errors(few, columns)
        if errors and like_others:
            errors = self._find_errors(self.rules, columns)
        raise_together(tell_once(errors, len(self.rules)))

    def bind(self, schema: pa.Schema, settings: Settings) -> Program:
        from trendweave.planning.checks.operators import check_order
        from trendweave.programs.bind import bind
        from trendweave.programs.shared.program import bind_shared
        from trendweave.runners.metrics import Metrics

        if settings.device == "gpu":
            message = "workloads are not computed on a GPU"
            raise ExecutionError([Problem("TW422", message, "use device='threads', or run queries one by one")])
        raise_problems(check_order(settings.order_by, schema_of(schema)))
        programs: dict[str, Program] = {}
        by_text: dict[str, Program] = {}
        errors: list[TrendweaveError] = []
        for rule in self.rules:
            plan = rule.query.plan
            try:
                if plan.text not in by_text:
                    by_text[plan.text] = bind(plan, schema, self.time, self._type_column(plan), settings)
                programs[rule.name] = by_text[plan.text]
            except TrendweaveError as error:
                errors.append(error.about(rule.name))
        raise_together(errors)
        metrics = settings.observation.sharing if isinstance(settings.observation, Metrics) else None
        notes = {str(name): {rule.name: getattr(rule, name) for rule in self.rules} for name in settings.rule_columns}
        return bind_shared(programs, self.find_sharing(), settings.sharing, metrics, bool(settings.order_by), notes)

    def queries(self) -> tuple[tuple[QueryPlan, str | None], ...]:
        return tuple((plan, self._type_column(plan)) for plan in self._plans().values())

    def wishes(self, ordered: bool = False) -> tuple[Wish, ...]:
        from trendweave.store.patterns.plan_access import Wish

        plans = {plan.text: plan for plan in self._plans().values()}
        return tuple(Wish(plan, self._type_column(plan), ordered) for plan in plans.values())

    def _plans(self) -> dict[str, QueryPlan]:
        return {rule.name: rule.query.plan for rule in self.rules}

    def _type_column(self, plan: QueryPlan) -> str | None:
        return type_column(plan, self.type, self.of_trends)

    def _find_errors(self, rules: Iterable[Rule], columns: Schema) -> list[TrendweaveError]:
        from trendweave.planning.checks import check_query

        errors: list[TrendweaveError] = []
        for rule in rules:
            tree, plan = rule.query.tree, rule.query.plan
            try:
                problems = check_query(tree, plan, columns, self.time, self._type_column(plan))
                raise_problems(problems, rule.query.source)
            except TrendweaveError as error:
                errors.append(error.about(rule.name))
        return errors


def type_column(plan: QueryPlan, type: TypeColumn, of_trends: str | None = "type") -> str | None:
    """The type column of a query among others: interval queries read one where it is given and they name a type. Where
    none is given, trends read `of_trends`."""
    if not isinstance(plan, IntervalPlan):
        return of_trends if type is AUTO else type
    return None if type is AUTO or plan.source is None else type
