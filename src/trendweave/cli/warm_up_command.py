"""`trendweave warm-up`: compile before the first query asks for it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trendweave.cli.failure import Failure


def warm_up(
    pack: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A zip to write with all compiled kernels, for executors of the same kind."),
    ] = None,
) -> None:
    """Compile for this machine in advance what most queries need, for images and new machines."""
    from trendweave import warm_up

    try:
        print(warm_up(pack))
    except OSError as error:
        raise Failure(f"{pack} cannot be written: {error.strerror}", "name a file in an existing folder") from error
