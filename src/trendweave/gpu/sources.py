"""CUDA C texts that lie beside this module."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def cuda_text(*names: str, room: str = "trendweave.gpu") -> str:
    """The texts of these files, one after the other; kernels find what they call in those before.

    Args:
        names: Files in the folder `cuda` of the room, without their ending.
        room: The package that has the folder.
    """
    folder = files(room).joinpath("cuda")
    return "\n".join(folder.joinpath(f"{name}.cu").read_text(encoding="utf-8") for name in names)
