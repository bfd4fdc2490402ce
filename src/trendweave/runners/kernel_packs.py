"""Compiled kernels for other machines of the same kind: what a driver gives to its executors."""

from __future__ import annotations

from trendweave.kept_code import pack_kernels as pack_sources
from trendweave.kept_code import unpack_kernels
from trendweave.kernels.compiling import FINGERPRINT

__all__ = ["pack_kernels", "unpack_kernels"]


def pack_kernels() -> bytes:
    """All kernels that are compiled on this machine, as a zip; `trendweave.warm_up()` compiles what is missing."""
    return pack_sources(FINGERPRINT)
