"""CUDA C texts that lie beside this module."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def cuda_text(*names: str) -> str:
    """The texts of these files, one after the other; kernels find what they call in those before.

    Args:
        names: Files in the folder `cuda`, without their ending.
    """
    folder = files("trendweave.gpu").joinpath("cuda")
    return "\n".join(folder.joinpath(f"{name}.cu").read_text(encoding="utf-8") for name in names)
