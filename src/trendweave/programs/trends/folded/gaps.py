"""NOT of single events, where rows are forgotten: what kernels are told of gaps that events block.

Gaps between events and behind the last one begin with an event, and so with a state. The gap before the first event
begins with the window: there a trend comes from one state more, which is reached by an opening that stands before all
summaries of a window, and is left as other states are where an event blocks the gap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trendweave.kernels import Aggregate, Rows
from trendweave.kernels import Template as KernelTemplate
from trendweave.kernels.folding import Algebra, Summaries, concat_summaries, extend, no_summaries
from trendweave.planning.blocking import Blocking
from trendweave.planning.plan import Template


@dataclass(frozen=True, slots=True)
class Gaps:
    """A template in numbers, and the numbers of variables that block gaps, per transition and per final state."""

    template: KernelTemplate
    between: Mapping[int, tuple[int, ...]]
    behind: Mapping[int, tuple[int, ...]]


def number_gaps(template: Template, numbers: KernelTemplate, blocking: Blocking, variables: Mapping[str, int]) -> Gaps:
    """Tell kernels what blocks which gap.

    Args:
        template: The template of a plan.
        numbers: The same in numbers.
        blocking: The names of variables that block its gaps.
        variables: The numbers of all variables. The number behind them is that of the opening.

    Returns:
        The template, with a state more where trends may not begin everywhere in a window.
    """

    def numbered(names: frozenset[str]) -> tuple[int, ...]:
        return tuple(sorted(variables[name] for name in names))

    between = {place: numbered(names) for place, names in enumerate(blocking.between) if names}
    ends = zip(template.ends, blocking.behind, strict=True)
    behind = {end.state: numbered(names) for end, names in ends if names}
    if not blocking.leads:
        return Gaps(numbers, between, behind)
    opened = len(template.states)
    starts = [
        (start.state, numbered(names)) for start, names in zip(template.starts, blocking.before, strict=True) if names
    ]
    is_start = np.append(numbers.is_start, True)
    is_start[[state for state, _ in starts]] = False
    between |= {len(template.transitions) + place: names for place, (_, names) in enumerate(starts)}
    return Gaps(
        KernelTemplate(
            np.append(numbers.state_variable, len(variables)),
            is_start,
            np.append(numbers.is_final, False),
            np.append(numbers.source, [opened] * len(starts)),
            np.append(numbers.target, [state for state, _ in starts]),
        ),
        between,
        behind,
    )


def make_opening(algebra: Algebra, variable: int, aggregates: list[Aggregate]) -> Summaries:
    """The summary that stands before those of a window.

    Args:
        algebra: How trends are summed up.
        variable: The number of the opening.
        aggregates: Values of one row, which nothing counts.

    Returns:
        One summary.
    """
    nowhere = np.zeros(1, np.int64)
    letters = np.array([[1 << variable]], np.uint64)
    rows = Rows(np.array([0, 1]), nowhere, nowhere, nowhere, letters)
    return extend(algebra, no_summaries(algebra), np.array([-1]), rows, aggregates)


def open_windows(
    algebra: Algebra, opening: Summaries, summaries: Summaries, low: np.ndarray, high: np.ndarray
) -> tuple[Summaries, np.ndarray, np.ndarray]:
    """Put an opening before each run low:high of summaries.

    Args:
        algebra: How trends are summed up.
        opening: The opening.
        summaries: The summaries.
        low: Where each run begins.
        high: Where each run ends.

    Returns:
        Summaries, and where each run begins and ends among them.
    """
    count = high - low + 1
    ends = np.cumsum(count)
    begins = ends - count
    index = np.arange(int(count.sum())) + np.repeat(low - 1 - begins, count)
    index[begins] = summaries.size
    return concat_summaries(algebra, [summaries, opening]).take(index), begins, ends
