"""Python workers of Spark: how tasks travel to them, what they need, which GPU they were assigned, and what lasts as
long as they do.

A task travels in a wrapping that needs nothing in the worker, so that it can say what is missing.
"""

from __future__ import annotations

import gc
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext, cloudpickle
from pyspark.sql import SparkSession

from trendweave.devices.names import assign_card
from trendweave.errors import ExecutionError, Problem
from trendweave.runners.shipping.package_files import OWN, own_fingerprint


def use_assigned_card() -> None:
    """Let this process use the card that its task was given, where it was given one."""
    addresses = _addresses()
    if addresses:
        assign_card(int(addresses[0]))


def _addresses() -> list[str]:
    task = TaskContext.get()
    resources = {} if task is None else task.resources()
    return list(resources["gpu"].addresses) if "gpu" in resources else []


def leave_worker(task: str) -> None:
    """After a task of a batch: what lasts is set aside, and memory that Arrow keeps for later goes back to the machine,
    as the next task of this worker may be of another kind.

    Args:
        task: As for `set_lasting_objects_aside`.
    """
    set_lasting_objects_aside(task)
    pa.default_memory_pool().release_unused()


def set_lasting_objects_aside(task: str) -> None:
    """Let later collections of garbage leave out what is there now.

    Args:
        task: What this worker has done and loads nothing for any more; for each such word it happens once. Outside of
            Spark's workers nothing happens.
    """
    if TaskContext.get() is not None:
        _set_aside(task)


@cache
def _set_aside(task: str) -> None:
    gc.collect()  # so that no garbage stays
    gc.freeze()


Batches = Iterator[pa.RecordBatch]
Task = Callable[[Batches], Batches]
_dumps: Callable[[Any], bytes] = cloudpickle.dumps


def travelling(task: Task) -> Task:
    """A task for mapInArrow, wrapped."""
    packed, told, unpack = _dumps(task), own_fingerprint(), _make_unpack()

    def run(batches: Batches) -> Batches:
        yield from unpack(packed, told, None)(batches)

    run.__name__ = type(task).__name__  # plans show it
    return run


def travelling_state(kind: type, state: dict[str, Any]) -> tuple[Callable[..., Any], tuple[bytes, str, str]]:
    """For `__reduce__` of what Spark also unpickles in a Python of its own beside the driver, which it does not tell of
    the files that were submitted: that one finds this package where the driver does."""
    unpack = _make_unpack()

    def restore(packed: bytes, told: str, place: str) -> Any:
        kind, state = unpack(packed, told, place)
        made = object.__new__(kind)
        made.__dict__.update(state)
        return made

    spec = find_spec(OWN)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    place = str(Path(next(iter(spec.submodule_search_locations))).parent)
    return restore, (_dumps((kind, state)), own_fingerprint(), place)


def _make_unpack() -> Callable[[bytes, str, str | None], Any]:
    def unpack(packed: bytes, told: str, place: str | None) -> Any:
        """Nothing here may name anything of the module around it."""
        import pickle
        import sys
        from importlib.util import find_spec

        if place is not None and find_spec("trendweave") is None:
            sys.path.append(place)
        try:
            from trendweave.runners.shipping.package_files import own_fingerprint

            if own_fingerprint() != told:
                there = sys.modules["trendweave"].__file__
                raise RuntimeError(
                    f"TW424: executors have another Trendweave ({there}) than the driver; write it anew by "
                    "'trendweave package', and hand it to them by 'spark-submit --py-files trendweave.zip'"
                )
            found = pickle.loads(packed)
        except ModuleNotFoundError as error:
            lacks = (error.name or str(error)).split(".")[0]
            ship = "write it by 'trendweave package', and submit with '--py-files trendweave.zip'"
            install = "install it there, or set PYSPARK_PYTHON to a Python that has it"
            raise RuntimeError(
                f"TW424: the Python of executors, {sys.executable}, has no {lacks}; "
                f"{ship if lacks in ('trendweave', 'lark') else install}"
            ) from None
        return found

    return unpack


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
