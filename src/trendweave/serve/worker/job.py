"""A job: what was asked, what is served, and how much of it a page gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from trendweave import Query, Workload, query, workload
from trendweave.errors import TrendweaveError, raise_together
from trendweave.serve.asking import Asked
from trendweave.serve.folders import Refused
from trendweave.serve.serving import Limits

Message: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Job:
    """Made by `read_job`."""

    asked: Asked
    folder: Path | None
    stores: Mapping[str, str]
    limits: Limits

    def queries(self) -> Query | Workload:
        """One query, or a workload of several.

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
        read: dict[str, Query | str | Mapping[str, Any]] = {}
        errors: list[TrendweaveError] = []
        for rule in rules:
            try:
                read[rule.name] = query(rule.text)
            except TrendweaveError as error:
                errors.append(error.about(rule.name))
        raise_together(errors)
        return workload(read)


def read_job(given: dict[str, Any], asked: Asked) -> Job:
    """Read what the server sends along with a request."""
    folder = given["folder"]
    return Job(asked, None if folder is None else Path(folder), given["stores"], Limits(**given["limits"]))
