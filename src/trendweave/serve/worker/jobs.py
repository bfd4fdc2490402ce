"""The kinds of jobs, and how what goes wrong in one is told."""

from __future__ import annotations

import logging
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

from trendweave.errors import TrendweaveError
from trendweave.serve.asking import read_asked
from trendweave.serve.folders import Refused
from trendweave.serve.worker.job import Job, Message, read_job
from trendweave.serve.worker.own_words import translate
from trendweave.serve.worker.problems import tell_problems


def run_job(given: dict[str, Any]) -> Iterator[Message]:
    """The messages of a job. It never raises: what goes wrong is a message as well."""
    told = _Notes()
    log = logging.getLogger("trendweave")
    log.addHandler(told)
    try:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("default")
            job = read_job(given, read_asked(given["asked"], given["limits"]["rules"]))
            yield from _start(given["kind"], job)
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


def _start(kind: str, job: Job) -> Iterator[Message]:
    # Imported here, so that a worker that only checks queries loads neither Arrow nor compiled code.
    match kind:
        case "check":
            from trendweave.serve.worker.checking import check

            yield check(job)
        case "columns":
            from trendweave.serve.worker.columns import describe_columns

            yield describe_columns(job)
        case "plan":
            from trendweave.serve.worker.plans import show_plans

            yield show_plans(job)
        case "events":
            from trendweave.serve.worker.row_events import find_events

            yield find_events(job)
        case "run":
            from trendweave.serve.worker.running import run

            yield from run(job)
        case "live":
            from trendweave.serve.worker.replaying import replay

            yield from replay(job)
        case _:
            raise Refused(f"{kind} is no job")


class _Notes(logging.Handler):
    """What the package tells in its log."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())
