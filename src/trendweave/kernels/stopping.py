"""Kernels that may take long look here whether their thread is to stop (`trendweave.stopping`).

A kernel that has only been handed its memory raises; one that has allocated some (`outer`) returns what it has, because
Numba frees nothing when something is raised. Whoever has called it sees neither: Python looks after each kernel.
"""

from trendweave.kernels.compiling import inlined_late, inner
from trendweave.kernels.packs import current_thread, stops


@inner
def _is_asked():
    """Whether this very thread is among those that are to stop."""
    thread = current_thread()
    for place in range(1, stops(0) + 1):
        if stops(place) == thread:
            return True
    return False


@inlined_late
def is_to_stop():
    return stops(0) != 0 and _is_asked()


@inlined_late
def heed_stop():
    if is_to_stop():
        raise InterruptedError
