"""`trendweave package`: one file that takes Trendweave to the executors of a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trendweave import package as write_package
from trendweave.cli.failure import Failure

Out = Annotated[Path, typer.Option(metavar="PATH", help="The file to write; an existing one is replaced.")]
Kernels = Annotated[
    bool, typer.Option("--with-kernels", help="Include compiled kernels, for executors with the CPU of this machine.")
]
WithoutLark = Annotated[bool, typer.Option("--without-lark", help="Leave Lark out, if executors have it installed.")]


def package(out: Out = Path("trendweave.zip"), kernels: Kernels = False, without_lark: WithoutLark = False) -> None:
    """Write Trendweave into one file for spark-submit --py-files, Spark Connect and clusters."""
    if not out.absolute().parent.is_dir():
        raise Failure(f"there is no folder {out.parent}", "make it, or choose another --out")
    try:
        print(write_package(out, lark=not without_lark, kernels=kernels))
    except OSError as error:
        raise Failure(f"{out} cannot be written: {error}", "is its folder writable?") from error
