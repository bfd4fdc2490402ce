"""The command line, called in this process and as one of its own.

Python and its packages take a second to start, and what a command prints does not depend on that: most tests call it
here, with streams of its own. What only a process shows is tested with one.
"""

from __future__ import annotations

import io
import logging
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout

import pytest

from trendweave.cli import main


def trendweave(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Call the command in this process, without a terminal."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    command = ["trendweave", *arguments]
    logger = logging.getLogger("trendweave")
    handlers = logger.handlers[:]
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", command)
        patch.setattr(sys, "stdin", io.StringIO(text))
        patch.setenv("COLUMNS", "80")  # the width where there is no terminal
        try:
            main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            logger.handlers[:] = handlers
    return subprocess.CompletedProcess(command, code, _text(out), _text(err))


def trendweave_process(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Call the command as a process."""
    command = [sys.executable, "-m", "trendweave", *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=300, check=False)


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()
