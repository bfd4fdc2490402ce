"""A query with a name, and what a name may be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trendweave.errors import LanguageError, OptionError, PlanningError, Problem, TrendweaveError, raise_together
from trendweave.planning import IntervalPlan
from trendweave.queries import Query, check_bound


@dataclass(frozen=True, slots=True)
class Rule:
    """A query of a workload.

    Attributes:
        name: The name of the query. A / in it stands for folders.
        query: The query, checked and planned.
        version: The version of the rule, for information only.
        description: What it is for.
    """

    name: str
    query: Query
    version: str | None = None
    description: str | None = None


def check_rules(rules: Sequence[Rule]) -> None:
    """Refuse rules that make no workload.

    Args:
        rules: All of them, in order.

    Raises:
        TrendweaveError: There are none, names are not valid or given twice, or queries that cannot stand beside each
            other; all that is wrong together.
    """
    if not rules:
        raise unreadable("a workload has no queries", "give it at least one")
    errors: list[TrendweaveError] = [*find_wrong_names(rule.name for rule in rules)]
    given = [rule.name for rule in rules if _reads_intervals(rule.query)]
    if 0 < len(given) < len(rules):
        other = next(rule.name for rule in rules if rule.name not in set(given))
        message = f"query {given[0]} reads intervals, whose rows have no single time, and query {other} reads events"
        errors.append(PlanningError([Problem("TW271", message, "make one workload of each kind")]))
    raise_together(errors)


def check_all_bound(rules: Sequence[Rule]) -> None:
    """Refuse rules with parameters that have no value."""
    problems: list[Problem] = []
    for rule in rules:
        try:
            check_bound(rule.query)
        except OptionError as error:
            problems += error.about(rule.name).problems
    if problems:
        raise OptionError(problems)


def find_wrong_names(names: Iterable[object]) -> list[LanguageError]:
    """An error for each name that is none, and for each that is given twice."""
    errors, seen = [], set()
    for name in names:
        if not _is_name(name):
            hint = "give a text without surrounding blanks and line breaks; a / separates folders"
            errors.append(LanguageError([Problem("TW172", f"{name!r} is not a valid name of a query", hint)]))
        elif name in seen:
            message = f"two queries are called {name}"
            errors.append(LanguageError([Problem("TW172", message, "give each query a name of its own")]))
        seen.add(name)
    return errors


def unreadable(message: str, hint: str) -> LanguageError:
    """The error of something that is no workload, to be raised."""
    return LanguageError([Problem("TW171", message, hint)])


def _is_name(name: object) -> bool:
    """Whether results, states and files can be called by it."""
    if not isinstance(name, str) or not name.isprintable():
        return False
    return all(part.strip() == part and part not in ("", ".", "..") for part in name.split("/"))


def _reads_intervals(query: Query) -> bool:
    return isinstance(query.plan, IntervalPlan) and query.plan.intervals is not None
