"""What compiled code runs on: the compiler, Python and the processor. Code for one is no code for another."""

from __future__ import annotations

import hashlib
import sys
from functools import lru_cache
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core.registry import cpu_target

#: Settings of Numba that change what it makes of a function.
_SETTINGS = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK", "ENABLE_AVX", "USING_SVML", "DEBUGINFO_DEFAULT")
#: Raised where code is kept in another form.
_FORM = 1


def machine_key() -> str:
    """Tells apart machines that cannot run each other's compiled code, and those that can from nothing else."""
    processor: Any = cpu_target.target_context.codegen().magic_tuple()
    return _digest(processor)


@lru_cache(4)
def _digest(processor: Any) -> str:
    settings = [getattr(numba.config, name, None) for name in _SETTINGS]
    versions = [numba.__version__, llvmlite.__version__, np.__version__, sys.implementation.cache_tag, sys.abiflags]
    return hashlib.sha256(repr((_FORM, versions, processor, settings)).encode()).hexdigest()[:20]
