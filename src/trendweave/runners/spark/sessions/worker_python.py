"""What Spark's Python workers need, looked at before anything runs: a worker that fails tells it in a hundred lines."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from pyspark.sql import SparkSession

from trendweave.errors import ExecutionError, Problem

#: What a task imports. Trendweave itself may travel in a zip, which no Python knows beforehand.
_PACKAGES = ("lark", "numba", "numpy", "pandas", "pyarrow")
_LOOK = (
    "import sys; from importlib.util import find_spec; "
    "print('%d.%d' % sys.version_info[:2], *[name for name in sys.argv[1:] if find_spec(name) is None])"
)
_PATIENCE = 30  # seconds


def check_python(session: SparkSession) -> None:
    """Refuse to start what workers could not do.

    Only workers of this machine can be looked at; those of a cluster are as their images are.

    Raises:
        ExecutionError: pandas is missing here, or workers would be a Python of another version, or without packages.
    """
    if find_spec("pandas") is None:
        message = "Spark needs pandas to pass columns to Python, and it is not installed"
        raise ExecutionError([Problem("TW424", message, "pip install 'trendweave[spark]'")])
    # A session of Spark Connect has none, and does not say what its workers are.
    context = getattr(session, "_sc", None)
    if context is None or not str(context.master).startswith("local"):
        return
    if (why := find_mismatch(str(context.pythonExec))) is not None:
        hint = f"set PYSPARK_PYTHON={sys.executable} before the session is created, and create a new one"
        raise ExecutionError([Problem("TW424", why, hint)])


@lru_cache
def find_mismatch(command: str) -> str | None:
    """Why workers that are started by a command could not work together with this process; None where they can."""
    found = shutil.which(command)
    if found is None:
        return f"Spark's workers would be started as {command}, and there is no such program"
    if Path(found).parent == Path(sys.executable).parent:
        return None
    try:
        said = subprocess.run(
            [found, "-c", _LOOK, *_PACKAGES], capture_output=True, text=True, timeout=_PATIENCE, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None  # what is no plain Python, such as a script around one, is for Spark to start
    version, *missing = said.stdout.split() or [""]
    ours = f"{sys.version_info.major}.{sys.version_info.minor}"
    if version == ours and not missing:
        return None
    without = f" without {', '.join(missing)}" if missing else ""
    return f"Spark's workers would be {found}, Python {version}{without}, and not this Python {ours}"
