"""The public `Workload`: many queries over the same events, run together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

from trendweave import places
from trendweave.errors import Problem, TrendweaveError, UnknownNameError, near_names, raise_together
from trendweave.events import AUTO, TypeColumn
from trendweave.queries import Query, Runnable, check_values, read_value, store_time
from trendweave.rules.asked import AskedRules, type_column
from trendweave.rules.reading import make_rule, read_rules
from trendweave.rules.rule import Rule, check_all_bound, check_rules

if TYPE_CHECKING:
    from trendweave.pictures.picture import Picture
    from trendweave.planning.show import ExplainFormat
    from trendweave.runners.incremental import Incremental
    from trendweave.runners.options import Options
    from trendweave.runners.workload_session import WorkloadSession
    from trendweave.sharing.units import SharingPlan

#: What `trendweave.workload` takes.
Source: TypeAlias = (
    "str | PathLike[str] | Mapping[str, Query | str | Mapping[str, Any]] "
    "| Iterable[Query | str | Rule | tuple[str, Query | str]]"
)
_SHOWN_NAMES, _SHOWN_QUERIES = 6, 20


@dataclass(frozen=True, slots=True, repr=False)
class Workload(Runnable, Mapping[str, Query]):
    """Named queries over the same events. Immutable; a mapping from names to queries, in order.

    Equal workloads have equal rules in the same order.

    Attributes:
        rules: The queries with their names, versions and descriptions.
    """

    rules: tuple[Rule, ...]
    _by_name: dict[str, Rule] = field(init=False, compare=False)
    _shared: list[SharingPlan] = field(init=False, compare=False, default_factory=list)

    def __post_init__(self) -> None:
        check_rules(self.rules)
        object.__setattr__(self, "_by_name", {rule.name: rule for rule in self.rules})

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the queries, in order."""
        return tuple(self._by_name)

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __getitem__(self, name: str) -> Query:
        return self.rule(name).query

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __repr__(self) -> str:
        shown = ", ".join(self.names[:_SHOWN_NAMES])
        more = len(self) - _SHOWN_NAMES
        return f"<Workload of {len(self):,} queries: {shown}{f' and {more:,} more' if more > 0 else ''}>"

    def _repr_html_(self) -> str:
        from trendweave.pictures.cards import Card

        lines = [f"{name}\n{rule.query}" for name, rule in self._by_name.items()][:_SHOWN_QUERIES]
        if len(self) > _SHOWN_QUERIES:
            lines.append(f"and {len(self) - _SHOWN_QUERIES:,} more")
        more = [("queries", "\n\n".join(lines)), ("what is shared", self.explain())]
        return Card(f"Workload · {len(self):,} queries", "", (), (self._draw(),), more).html()

    def _draw(self) -> Picture:
        """What is computed together, as a picture."""
        from trendweave.sharing.show import see_sharing
        from trendweave.sharing.workload_picture import make_workload

        return make_workload(see_sharing(self._sharing(), tuple(self._members().values())))

    def rule(self, name: str) -> Rule:
        """A query with its version and description.

        Args:
            name: The name of the query.

        Raises:
            UnknownNameError: There is no query of this name.
        """
        if name not in self._by_name:
            raise UnknownNameError([self._unknown(name)])
        return self._by_name[name]

    def with_query(
        self, name: str, query: Query | str, version: str | int | None = None, description: str | None = None
    ) -> Workload:
        """A workload with one more query; it replaces a query of the same name, at the same position.

        Args:
            name: The name of the query.
            query: The query, or its text.
            version: Its version, for information.
            description: What it is for.

        Raises:
            TrendweaveError: The name or the query has problems, or cannot be combined with the others.
        """
        try:
            made = make_rule(name, query, version, description)
        except TrendweaveError as error:
            raise error.about(str(name)) from None
        if name not in self:
            return Workload((*self.rules, made))
        return Workload(tuple(made if rule.name == name else rule for rule in self.rules))

    def without(self, *names: str) -> Workload:
        """A workload without some of its queries.

        Args:
            *names: The names of the queries to remove; at least one query must remain.

        Raises:
            UnknownNameError: There is no query of this name.
            LanguageError: No query would remain.
        """
        unknown = [self._unknown(name) for name in names if name not in self]
        if unknown:
            raise UnknownNameError(unknown)
        return Workload(tuple(rule for rule in self.rules if rule.name not in names))

    def bind(self, values: Mapping[str, Any] | None = None, /, **more: Any) -> Workload:
        """The workload with values for parameters of its queries; see `Query.bind`.

        Args:
            values: Values by name. Each query takes those of its own parameters.
            **more: The same, by keyword.

        Raises:
            OptionError: No query has such a parameter, or a value cannot stand in a query.
            TrendweaveError: With these values a query has no meaning.
        """
        given = {**(values or {}), **more}
        check_values(given, [name for rule in self.rules for name in rule.query.parameters])
        errors: list[TrendweaveError] = []
        rules = []
        for rule in self.rules:
            try:
                own = {name: given[name] for name in rule.query.parameters if name in given}
                rules.append(replace(rule, query=rule.query.bind(own)) if own else rule)
            except TrendweaveError as error:
                errors.append(error.about(rule.name))
        raise_together(errors)
        return Workload(tuple(rules))

    def rows(self, result: Any, name: str, time: str = "time", type: TypeColumn = AUTO) -> Any:
        """The rows and columns of one query, as the query alone returns them.

        Args:
            result: The result of `run`, `iter` or a session: an Arrow table, batch or reader, a pandas or polars frame,
                a Spark DataFrame (also a streaming one), or rows as mappings.
            name: The name of the query.
            time: As it was given to `run`.
            type: As it was given to `run`.

        Returns:
            A result of the same kind.

        Raises:
            UnknownNameError: There is no query of this name.
            DataError: The result lacks columns of this query, or is not a table.
        """
        plan = self.rule(name).query.plan
        from trendweave.results.united_columns import shown_columns
        from trendweave.runners.rows_of_query import select_rows

        return select_rows(result, name, shown_columns(plan, time, type_column(plan, type)))

    def _explain_plan(self, format: ExplainFormat) -> str:
        from trendweave.sharing.show import show_sharing

        check_all_bound(self.rules)
        return show_sharing(self._sharing(), tuple(self._members().values()), format)

    def push(
        self, events: Any, time: str = "time", type: TypeColumn = AUTO, **options: Unpack[Options]
    ) -> WorkloadSession[Workload]:
        """A push session in this process, for all queries; see `Query.push`.

        Its queries may change while it runs: `session.with_query(name, query)`, `session.without(name)`. With the state
        of another workload's session, queries with the same name and text resume, and others start.

        Args:
            events: The schema of the events, or a table with this schema.
            time: As in `run`.
            type: As in `run`.
            **options: See `trendweave.Options`, and `Query.push`.

        Raises:
            DataError: As in `run`, or the state is not that of a workload on these events.
            OptionError: As in `run`.
            ExecutionError: A query cannot run piece by piece, or has one window over the whole input.
        """
        from trendweave.runners.workload_session import WorkloadSession

        engine, watermark, state = places.prepare_session(self._asked(None, time, type), events, options)
        columns = engine.events
        later = {name: value for name, value in options.items() if name != "state"}

        def make_engine(rules: Workload) -> Incremental:
            if rules is self:
                return engine
            return places.prepare_session(rules._asked(None, time, type), columns, later)[0]

        return WorkloadSession(self, make_engine, watermark, state)

    def _unknown(self, name: object) -> Problem:
        shown = ", ".join(self.names[:_SHOWN_NAMES])
        hint = near_names(str(name), self.names) or f"the queries are {shown}{', ...' * (len(self) > _SHOWN_NAMES)}"
        return Problem("TW173", f"the workload has no query {name}", hint)

    def _asked(self, events: Any, time: str, type: TypeColumn) -> AskedRules:
        """The rules with the columns of time and type, which a store knows."""
        if not places.is_store(events):
            return AskedRules(self.rules, self._sharing, time, type)
        return AskedRules(self.rules, self._sharing, store_time(events, time), type, events.type)

    def _members(self) -> dict[str, tuple[str, ...]]:
        """The different queries by their texts, each with the names that it has."""
        members: dict[str, tuple[str, ...]] = {}
        for rule in self.rules:
            text = rule.query.plan.text
            members[text] = (*members.get(text, ()), rule.name)
        return members

    def _sharing(self) -> SharingPlan:
        """How queries are computed together, found once."""
        from trendweave.sharing.units import plan_sharing

        if not self._shared:
            plans = {rule.query.plan.text: rule.query.plan for rule in reversed(self.rules)}
            self._shared.append(plan_sharing([plans[text] for text in self._members()]))
        return self._shared[0]


def workload(
    source: Source, schema: Any = None, time: str = "time", type: TypeColumn = AUTO, **options: Unpack[Options]
) -> Workload:
    """Parse, check and plan many queries; with a schema, also check that they fit it.

    Args:
        source: A mapping from names to queries (a `Query`, a text, or a mapping with `query` and perhaps `version` and
            `description`); queries, which are called q1, q2 and so on, or (name, query) pairs; or the path of a folder
            of `.tw` files (called as the files are, with a / for folders), of one `.tw` file, or of a `.json` or
            `.yaml` file with such a mapping, or with a list of mappings that have `name` as well. A `.tw` file may
            begin with the comments `-- version: ...` and `-- description: ...`.
        schema: As for `Workload.check`. If some queries cannot be parsed, the others are still checked.
        time: As for `Workload.check`.
        type: As for `Workload.check`.
        **options: As for `Workload.check`.

    Returns:
        The workload, with the queries in the given order; those of a folder ordered by name.

    Raises:
        TrendweaveError: All problems of all queries together, each with the name of its query.
    """
    if schema is None:
        return read_workload(source)
    made = read_workload(source, lambda readable: readable.check(schema, time, type, **options))
    made.check(schema, time, type, **options)
    return made


def read_workload(source: Source, check: Callable[[Workload], object] | None = None) -> Workload:
    """Read, check and plan many queries.

    Args:
        source: As for `workload`.
        check: Called where some queries cannot be read, with the others: what it raises is told as well.

    Raises:
        TrendweaveError: All problems together.
    """
    if isinstance(source, Workload):
        return source
    return Workload(read_rules(source, None if check is None else lambda rules: check(Workload(rules))))


def read_values(texts: Mapping[str, str]) -> dict[str, Any]:
    """Values of parameters that are written outside of a query: literals of the language, else texts."""
    return {name: read_value(text) for name, text in texts.items()}
