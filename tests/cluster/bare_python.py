"""A Python as executors have it: with what is compiled for a machine, and without Trendweave and Lark."""

from __future__ import annotations

import sys
import venv
from collections.abc import Sequence
from pathlib import Path

_TRAVELS = ("trendweave", "lark")


def make_python(folder: Path, without: Sequence[str] = _TRAVELS) -> Path:
    """An environment that shares the packages of this one, but for some of them; gives its interpreter.

    What `.pth` files add, such as sources of a package that is installed for editing, is not shared.
    """
    venv.create(folder, with_pip=False, symlinks=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    # An environment may share packages of another one; its own come first.
    places = [Path(place) for place in sys.path if Path(place).name == "site-packages"]
    for entry in (entry for place in places for entry in place.iterdir()):
        name = entry.name.split("-")[0].split(".")[0].lower()
        left_out = name in without or entry.suffix == ".pth" or entry.name == "__pycache__"
        if not left_out and not (packages / entry.name).exists():
            (packages / entry.name).symlink_to(entry)
    return folder / "bin" / "python"
