"""A session of a workload, whose queries come and go while it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

from trendweave.runners.incremental import Incremental
from trendweave.runners.session import PushSession

if TYPE_CHECKING:
    from trendweave.pictures.picture import Picture


class Rules(Protocol):
    """Named queries; a workload."""

    def with_query(
        self, name: str, query: Any, version: str | int | None = None, description: str | None = None
    ) -> Self:
        """With one more query, or with another of a name that it has."""

    def without(self, *names: str) -> Self:
        """Without some of them."""

    def _draw(self) -> Picture:
        """What is computed together, as a picture."""


R = TypeVar("R", bound=Rules)


class WorkloadSession(PushSession, Generic[R]):
    """Made by `push` of a workload. As any session, and its queries may change between two events.

    There is one watermark for all queries. A query that comes later sees no events of before, and none that comes
    after it with a time up to that of the latest event so far. It has rows for what begins after that time: sliding
    windows that start after it, windows that move with the stream once all of one lies after it, trends and sessions
    whose first event does. Rows of other queries do not change. A query that is dropped leaves nothing behind, and its
    open windows come out no more. A query with another text under the same name is a new one.
    """

    def __init__(self, rules: R, make_engine: Callable[[R], Incremental], watermark: str, state: bytes | None) -> None:
        super().__init__(make_engine(rules), watermark, state)
        self._rules, self._make_engine = rules, make_engine

    def _repr_html_(self) -> str:
        from trendweave.pictures.cards import Card

        pictures = (self._rules._draw(),)
        return Card(type(self).__name__, "", self._facts(), pictures, (("queries", self._engine.text),)).html()

    @property
    def workload(self) -> R:
        """The queries that it has now."""
        return self._rules

    def with_query(
        self, name: str, query: Any, version: str | int | None = None, description: str | None = None
    ) -> None:
        """Take one more query, or another one under a name that is there.

        Args:
            name: The name of the query.
            query: The query, or its text.
            version: Which version it is, for people.
            description: What it is for.

        Raises:
            TrendweaveError: The query has problems, does not fit the columns of the session, or cannot stand beside the
                others. Then nothing has changed.
        """
        self.change(self._rules.with_query(name, query, version, description))

    def without(self, *names: str) -> None:
        """Drop some queries.

        Args:
            *names: Their names; at least one query stays.

        Raises:
            TrendweaveError: There is none of such a name, or none would stay. Then nothing has changed.
        """
        self.change(self._rules.without(*names))

    def change(self, rules: R) -> None:
        """Go on with another workload: with the queries that it has in common with this one, and with new ones.

        Args:
            rules: The other workload.

        Raises:
            TrendweaveError: It does not fit the columns of the session. Then nothing has changed.
        """
        engine = self._make_engine(rules)
        state = engine.take_over(self._up_to_now())
        self._use(engine)
        self._rules, self._state = rules, state
        self._look_ahead()
