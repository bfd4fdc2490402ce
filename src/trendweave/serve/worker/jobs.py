"""Jobs: what was asked, what is served, how much of it a page gets; and how what goes wrong in one is told.

The package speaks of arguments of Python, and a page has fields."""

from __future__ import annotations

import logging
import re
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from trendweave import Query, Workload, query
from trendweave.errors import Problem, TrendweaveError
from trendweave.serve.asking import Asked, Refused, read_asked
from trendweave.serve.serving import Limits
from trendweave.workload import read_workload

Message: TypeAlias = dict[str, Any]
#: Where each kind of job is done: imported by the first one, so that a worker that only checks queries loads neither
#: Arrow nor compiled code.
_KINDS = {
    "check": "plans.check",
    "plan": "plans.show_plans",
    "columns": "events.describe_columns",
    "events": "row_events.find_events",
    "run": "running.run",
    "live": "replaying.replay",
}
_MOST_PROBLEMS = 50
#: What the package says, and what the page says instead; tried one after the other.
_WORDS = tuple(
    (re.compile(said), instead)
    for said, instead in (
        (r"name it with time=\"(.*)\", the", r"choose \1 under Time, the"),
        (r"name it with time=", "choose it under Time"),
        (r"name it with type=, or type=None", "choose it under Type, or none"),
        (r"name the column that holds the type with type=", "choose the column that holds the type under Type"),
        (r"remove type=", "choose none under Type"),
        (r"give time_unit='\w+' if they are (\w+)", r"choose \1 under Times are"),
        (r"give time_format='iso', or how times are written, such as time_format='.*'", "choose text under Times are"),
        (
            r"give time_format='iso', which takes a date as midnight of UTC",
            "choose text under Times are, for dates too",
        ),
        (r"give time_format(='iso')? instead", "choose text under Times are"),
        (r"give time_unit for numbers since 1970, or such as time_format='.*", "choose a unit under Times are"),
        (r"give another time_unit", "choose another unit under Times are"),
        (r"leave time_(unit|format) out", "choose another reading under Times are"),
        (r"time_unit is for numbers", "units are for numbers"),
        (r"time_format is for text", "text was chosen under Times are"),
        (r" the time_format; ", " the format chosen under Times are; "),
        (r"; max_trends is ", "; a page gets at most "),
        (r", and max_trends= allows more", ""),
        (r", unless order_by= names a column that orders them", ""),
        (
            r"read the file: trendweave\.query\(Path\(.*",
            "write the query itself; .tw files of the served folder stand beside the examples",
        ),
        (r"; max_trends= allows a hundred times as many to be looked at", ""),
    )
)
#: A column that is chosen in a field of the page.
_MISSING = re.compile(r"there is no (?P<role>time|type) column ")


@dataclass(frozen=True, slots=True)
class Job:
    """A request, and what is served."""

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


def run_job(given: dict[str, Any]) -> Iterator[Message]:
    """The messages of a job. It never raises: what goes wrong is a message as well."""
    told = _Notes()
    log = logging.getLogger("trendweave")
    log.addHandler(told)
    try:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("default")
            yield from _start(given)
        notes = list(dict.fromkeys(map(translate, [*told.texts, *(str(one.message) for one in found)])))
        if notes:
            yield {"event": "notes", "notes": notes[:20]}
    except TrendweaveError as error:
        yield tell_problems(error)
    except Refused as error:
        yield {"event": "refused", "message": str(error)}
    except MemoryError:
        yield {"event": "stopped", "reason": "memory", "message": "there is not enough memory for this"}
    except Exception as error:
        traceback.print_exc()
        yield {"event": "stopped", "reason": "failed", "message": f"{type(error).__name__}: {error}"}
    finally:
        log.removeHandler(told)


def _start(given: dict[str, Any]) -> Iterable[Message]:
    limits, folder = Limits(**given["limits"]), given["folder"]
    asked = read_asked(given["asked"], limits.rules)
    job = Job(asked, None if folder is None else Path(folder), given["stores"], limits)
    if given["kind"] not in _KINDS:
        raise Refused(f"{given['kind']} is no job")
    module, _, function = _KINDS[given["kind"]].partition(".")
    return getattr(import_module(f"trendweave.serve.worker.{module}"), function)(job)


class _Notes(logging.Handler):
    """What the package tells in its log."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


def tell_problems(error: TrendweaveError) -> Message:
    """All problems, or the first ones of very many."""
    return {
        "event": "problems",
        "stage": error.stage,
        "count": len(error.problems),
        "problems": [_tell(in_own_words(problem), error.source) for problem in error.problems[:_MOST_PROBLEMS]],
    }


def _tell(problem: Problem, source: str | None) -> Message:
    return {
        "code": problem.code,
        "message": problem.message,
        "hint": problem.hint,
        "line": problem.line,
        "column": problem.column,
        "length": problem.length,
        "query": problem.query,
        "shown": problem.render(source),
    }


def in_own_words(problem: Problem) -> Problem:
    """The same problem; what it says of arguments, it says of fields."""
    missing = _MISSING.match(problem.message)
    if problem.code == "TW302" and missing and problem.hint.startswith("did you mean "):
        return replace(problem, hint=f"{problem.hint} Choose it under {missing['role'].title()}")
    return replace(problem, message=translate(problem.message), hint=translate(problem.hint))


def translate(text: str) -> str:
    """A message in which fields of the page stand for arguments of Python.

    >>> translate("give time_unit='ms' if they are milliseconds")
    'choose milliseconds under Times are'
    """
    for said, instead in _WORDS:
        text = said.sub(instead, text)
    return text
