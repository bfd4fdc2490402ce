"""What Numba does without thinking of signals, or of other threads, done so that neither is felt.

Both were seen in Numba 0.68, and the package asks for a version below 0.69.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

from numba.core import errors, serialize

from trendweave.stopping import current_work

_Warnings: Any = errors.__dict__["WarningsFixer"]
_catch_warnings: Callable[..., AbstractContextManager[None]] = _Warnings.catch_warnings


def mend_numba() -> None:
    """Once, before the first kernel is compiled or called."""
    _Warnings.catch_warnings = _catch_warnings_alone
    # Whenever a kernel returns an array, Numba asks a function of Python for its class and does not look whether that
    # raises: a signal's handler may, there, and crashes the process. What is remembered is found without Python.
    serialize._numba_unpickle = cache(serialize._numba_unpickle)


def _catch_warnings_alone(self: Any, *place: Any, **named: Any) -> AbstractContextManager[None]:
    """Numba sorts its warnings while it finds types, by what Python has for the whole process and not for a thread. A
    thread of ours may compile beside its caller, whose warnings would go astray; our kernels give Numba no cause."""
    return nullcontext() if current_work() is not None else _catch_warnings(self, *place, **named)
