"""In which order the states of a template are linked."""

from __future__ import annotations

import numpy as np

from trendweave.kernels import Template


def order_states(template: Template) -> tuple[list[int], np.ndarray]:
    """Put states after those that lead to them.

    Args:
        template: A template.

    Returns:
        The states in order, and of each state whether ways lead from it back to itself: such states have no order
        among each other.
    """
    count = len(template.state_variable)
    leads = np.zeros((count, count), np.bool_)
    leads[np.asarray(template.source, np.int64), np.asarray(template.target, np.int64)] = True
    for through in range(count):
        leads |= leads[:, through : through + 1] & leads[through]
    # Each counts itself, too: a state that follows a repeated one has more before it.
    before = (leads | np.eye(count, dtype=np.bool_)).sum(axis=0)
    return np.argsort(before, kind="stable").tolist(), leads.diagonal().copy()
