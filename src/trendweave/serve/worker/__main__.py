"""A worker process: jobs come as lines of JSON on standard input, messages go as such lines to standard output."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TextIO, cast

from trendweave.serve.worker.jobs import run_job

#: The process ends by itself so many seconds after the server should have ended it, as when the server has died.
_GRACE = 10.0
_SIGNAL_AT_DEATH_OF_PARENT = 1  # as <linux/prctl.h> calls PR_SET_PDEATHSIG
_ONE_AT_A_TIME = threading.Lock()
#: How lines of the package on standard error begin.
_OWN = "trendweave: "


def main() -> None:
    """Run jobs until the server closes its end."""
    _end_with_the_server()
    answers = _take_standard_output()
    sys.stderr = cast("TextIO", Said(sys.stderr, lambda what: _write(answers, {"event": "doing", "what": what})))
    _limit_memory(int(sys.argv[1]))
    for line in sys.stdin:
        job = json.loads(line)
        # Without a handler the system itself ends the process, also in the middle of compiled code.
        signal.setitimer(signal.ITIMER_REAL, job["seconds"] + _GRACE)
        try:
            for message in run_job(job):
                _write(answers, message)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        _write(answers, {"event": "done"})


def _end_with_the_server() -> None:
    """Linux ends a process with the one that started it, if asked to; elsewhere it ends by the limit of its time."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SIGNAL_AT_DEATH_OF_PARENT, signal.SIGKILL)


def _take_standard_output() -> TextIO:
    """Keep it for messages; what libraries print goes to standard error."""
    own = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(own, "w", encoding="utf-8")


def _limit_memory(memory: int) -> None:
    """The server looks at what is used a few times a second; this stops one that takes everything in between."""
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (2 * memory + (2 << 30), resource.RLIM_INFINITY))


def _write(answers: TextIO, message: dict[str, Any]) -> None:
    with _ONE_AT_A_TIME:  # what is said may come from another thread
        answers.write(json.dumps(message) + "\n")
        answers.flush()


class Said:
    """A standard error whose lines of the package go to the page, too, up to their first comma: what stands behind it,
    such as where something is kept, is for the one at the terminal."""

    def __init__(self, stream: TextIO, tell: Callable[[str], None]) -> None:
        self._stream, self._tell = stream, tell

    def write(self, text: str) -> int:
        """Pass on what is written."""
        if text.startswith(_OWN):
            self._tell(text.removeprefix(_OWN).partition(",")[0].strip())
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


if __name__ == "__main__":
    with suppress(BrokenPipeError, KeyboardInterrupt):
        main()
