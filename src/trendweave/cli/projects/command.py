"""`trendweave new`: a folder with a query, some events, and a test that holds the query to its rows."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from trendweave.cli.failure import Failure

_TEMPLATE = "trendweave.cli.projects"
#: What stands for the name of the project.
_NAME = "PROJECT"

Folder = Annotated[Path, typer.Argument(metavar="PROJECT", help="The folder, which is not there yet, or empty.")]


def new(folder: Folder) -> None:
    """Make a project to begin with: a query, some events, and a test that passes."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Failure(f"{folder} exists already and is not empty", "choose another name")
    written = write_project(folder)
    print(f"{folder} has {', '.join(written)}")
    print(f"Try: cd {folder} && trendweave run falling.tw --events stock.csv --runner local && python -m unittest")


def write_project(folder: Path) -> list[str]:
    """Write the files of a project, and give their names.

    Raises:
        Failure: They cannot be written.
    """
    template = files(_TEMPLATE).joinpath("template")
    names = sorted(file.name for file in template.iterdir() if file.is_file())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            text = template.joinpath(name).read_text(encoding="utf-8")
            (folder / name).write_text(text.replace(_NAME, folder.resolve().name), encoding="utf-8")
    except OSError as error:
        raise Failure(f"{folder} cannot be written: {error}", "is its folder writable?") from error
    return names
