"""What `trendweave warm-up` does: kernels of queries and operators are compiled, and so are those of stores."""

from __future__ import annotations

from pathlib import Path

from trendweave.runners import warm_up as of_runs
from trendweave.store.warm_up import warm_up_stores


def warm_up(pack: str | Path | None = None) -> of_runs.WarmUp:
    """Compile the loops that are the same for all queries and those of common shapes, or load them where this machine
    has compiled them before.

    Without it, the first query of a kind on a large table waits for what it needs: 2 to 30 seconds of CPU time, once
    per machine. A query of another shape may still wait for a loop of its own, about a second.

    Args:
        pack: A zip to write with all that was compiled, for other machines of the same kind: Spark sends it to its
            executors by `--py-files` or `spark.addArtifacts(pack, pyfile=True)`.

    Returns:
        What was done, which prints as one line.
    """
    return of_runs.warm_up(pack, also=(warm_up_stores,))
