"""An operator, or a chain of them: what users of this room hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack

from trendweave.events import AUTO, TypeColumn
from trendweave.operators import running
from trendweave.operators.texts import match_text
from trendweave.planning.operator_plans import AggregatePlan, FilterPlan, JoinPlan
from trendweave.queries import Query

if TYPE_CHECKING:
    from trendweave.runners.incremental import Incremental
    from trendweave.runners.local import Batches
    from trendweave.runners.options import Options
    from trendweave.runners.session import PushSession

#: What an operator does: a plan of its own, or a query.
Task: TypeAlias = FilterPlan | AggregatePlan | JoinPlan | Query


@dataclass(frozen=True, slots=True)
class Piped:
    """What an operator and a chain have in common: they run, and another one may stand behind them."""

    @property
    def operators(self) -> tuple[Operator, ...]:
        """The operators, in order."""
        raise NotImplementedError

    @property
    def text(self) -> str:
        """Its text, which `trendweave.operators.pipe` parses."""
        return " | ".join(operator.text for operator in self.operators)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from trendweave.operators.drawing import make_operator_card

        return make_operator_card(self).html()

    def __or__(self, other: Piped | Query) -> Chain:
        behind = _operators_of(other)
        return NotImplemented if behind is None else Chain((*self.operators, *behind))

    def __ror__(self, other: Query) -> Chain:
        before = _operators_of(other)
        return NotImplemented if before is None else Chain((*before, *self.operators))

    def run(
        self,
        events: Any,
        right: Any = None,
        time: str = "time",
        type: TypeColumn = AUTO,
        **options: Unpack[Options],
    ) -> Any:
        """Run the operators and return the rows of the last one, in a table of the same kind as the events.

        Args:
            events: An Arrow table or reader, a pandas or polars frame, or a Spark DataFrame, which returns a lazy
                DataFrame (a streaming one for a stream), and so do files of `trendweave.read`; or a
                `trendweave.EventStore`, which returns an Arrow table. Rows may be in any order.
            right: If the first operator is a join, the events of its right side; `events` are those of the left side.
                Without it, the column `side` of the events has "left" or "right"; without that column all events are on
                both sides.
            time: The time column: a timestamp, or a number of seconds.
            type: The type column, for queries. By default the column `type`, if there is one.
            **options: See `trendweave.Options`.

        Raises:
            DataError: An operator does not fit its events.
            OptionError: An option is unknown here or has a wrong value.
            ExecutionError: It fits, but cannot run on these rows.
        """
        return running.run(self, events, right, time, type, options)

    def iter(
        self, events: Any, right: Any = None, time: str = "time", type: TypeColumn = AUTO, **options: Unpack[Options]
    ) -> Batches:
        """Run the operators and return an iterator over Arrow record batches.

        Args:
            events: An Arrow table or reader, a pandas or polars frame.
            right: As in `run`.
            time: As in `run`.
            type: As in `run`.
            **options: See `trendweave.Options`.
        """
        return running.iterate(self, events, right, time, type, options)

    def schema(
        self, events: Any, right: Any = None, time: str = "time", type: TypeColumn = AUTO, **options: Unpack[Options]
    ) -> Any:
        """The schema of the result of `run`, without running anything.

        Args:
            events: As in `run`, or an Arrow schema.
            right: As in `run`.
            time: As in `run`.
            type: As in `run`.
            **options: As in `run`.

        Returns:
            An Arrow schema; for a Spark DataFrame, a Spark schema.
        """
        return running.find_schema(self, events, right, time, type, options)

    def check(self, events: Any, right: Any = None, time: str = "time", type: TypeColumn = AUTO) -> None:
        """Check the operators against the columns of a table; each is checked against the rows of the one before.

        Args:
            events: An Arrow schema, or a table, frame or DataFrame.
            right: As in `run`.
            time: As in `run`.
            type: As in `run`.

        Raises:
            DataError: All problems together.
        """
        running.check(self, events, right, time, type)

    def incremental(
        self, events: Any, time: str = "time", type: TypeColumn = AUTO, **options: Unpack[Options]
    ) -> Incremental:
        """An incremental engine, for events that arrive piece by piece; see `trendweave.Query.incremental`.

        Args:
            events: The schema of the events, or a table with this schema. Those of a join have a column `side`.
            time: As in `run`.
            type: As in `run`.
            **options: See `trendweave.Options`.
        """
        return running.make_engine(self, events, time, type, options)

    def push(self, events: Any, time: str = "time", type: TypeColumn = AUTO, **options: Unpack[Options]) -> PushSession:
        """A push session in this process, for events that arrive one by one; see `trendweave.Query.push`.

        Args:
            events: As in `incremental`.
            time: As in `run`.
            type: As in `run`.
            **options: See `trendweave.Options`.
        """
        return running.open_session(self, events, time, type, options)

    def explain(
        self,
        events: Any = None,
        right: Any = None,
        time: str = "time",
        type: TypeColumn = AUTO,
        format: Literal["text", "json"] = "text",
        **options: Unpack[Options],
    ) -> str:
        """Explain what each operator does and where it runs; with events also how they are shuffled and what state a
        stream holds.

        Args:
            events: As in `run`, or a schema; without it only what does not depend on columns is shown.
            right: As in `run`.
            time: As in `run`.
            type: As in `run`.
            format: "text" or "json".
            **options: As in `run`.
        """
        from trendweave.operators.explaining import explain

        return explain(self, events, right, time, type, format, options)


@dataclass(frozen=True, slots=True, repr=False)
class Operator(Piped):
    """A single operator. Immutable; equal operators do the same.

    Attributes:
        task: What it does.
        source: The original text.
    """

    task: Task
    source: str = field(compare=False)

    @property
    def operators(self) -> tuple[Operator, ...]:
        return (self,)

    @property
    def text(self) -> str:
        return match_text(str(self.task)) if isinstance(self.task, Query) else self.task.text

    def __repr__(self) -> str:
        return f"Operator({self.text!r})"


@dataclass(frozen=True, slots=True, repr=False)
class Chain(Piped):
    """A chain of operators: each reads the rows of the one before. Immutable.

    Attributes:
        steps: The operators, in order.
    """

    steps: tuple[Operator, ...]

    @property
    def operators(self) -> tuple[Operator, ...]:
        return self.steps

    def __repr__(self) -> str:
        return f"Chain({self.text!r})"


def _operators_of(other: object) -> tuple[Operator, ...] | None:
    """The operators of what stands beside `|`; a query is one. None for anything else."""
    if isinstance(other, Piped):
        return other.operators
    return (Operator(other, other.source),) if isinstance(other, Query) else None
