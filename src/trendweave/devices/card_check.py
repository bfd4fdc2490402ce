"""Whether there is a GPU to compute on. Nothing of CUDA is loaded before somebody asks for it."""

from __future__ import annotations

import importlib
import importlib.util
from functools import cache

from trendweave.errors import ExecutionError, Problem


def require_card() -> None:
    """Raise where device="gpu" cannot run in this process.

    Raises:
        ExecutionError: TW416, with what is missing.
    """
    missing = _missing()
    if missing is not None:
        hint = 'pip install "trendweave[gpu]" on a machine with a GPU, or take device="threads" or "cpu"'
        raise ExecutionError([Problem("TW416", f'device="gpu" cannot run here: {missing}', hint)])


def has_card() -> bool:
    """Whether device="gpu" can run in this process."""
    return _missing() is None


@cache
def _missing() -> str | None:
    """What is missing for a GPU; None where nothing is."""
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed"
    try:
        cards = importlib.import_module("cupy").cuda.runtime.getDeviceCount()
    except Exception as error:  # CuPy tells a missing driver and a missing card by errors of its own.
        return f"CuPy finds no card ({error})"
    return None if cards else "CuPy finds no card"
