"""A job: what was asked, what is served, and how much of it a page gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from trendweave import Query, Workload, query
from trendweave.serve.asking import Asked
from trendweave.serve.folders import Refused
from trendweave.serve.serving import Limits
from trendweave.workload import read_workload

Message: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Job:
    """Made by `read_job`."""

    asked: Asked
    folder: Path | None
    stores: Mapping[str, str]
    limits: Limits

    def queries(self, check: Callable[[Workload], object] | None = None) -> Query | Workload:
        """One query, or a workload of several.

        Args:
            check: Called where some of several queries cannot be read, with the others: what it raises is told as well.

        Raises:
            TrendweaveError: All problems of all queries, each with the name of its query where there are several.
        """
        rules = self.asked.rules
        if not rules:
            raise Refused("there is no query")
        if len(rules) == 1:
            return query(rules[0].text)
        if len({rule.name for rule in rules}) < len(rules):
            raise Refused("two rules have the same name")
        return read_workload({rule.name: rule.text for rule in rules}, check)


def read_job(given: dict[str, Any], asked: Asked) -> Job:
    """Read what the server sends along with a request."""
    folder = given["folder"]
    return Job(asked, None if folder is None else Path(folder), given["stores"], Limits(**given["limits"]))
