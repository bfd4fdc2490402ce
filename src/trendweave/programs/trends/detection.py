"""Options of queries that show trends."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from trendweave.planning.plan import Plan

Strategy = Literal["baseline", "m-cet", "t-cet", "h-cet"]
STRATEGIES: tuple[Strategy, ...] = ("baseline", "m-cet", "t-cet", "h-cet")
MEMORY = 512 * 2**20
LEAST_MEMORY = 16 * 2**20
MAX_TRENDS = 1_000_000
_UNITS = {"": 1, "B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


@dataclass(frozen=True, slots=True)
class Detection:
    """Bytes that finding trends may use, how many are shown at most, and the strategy (None: the optimiser's)."""

    memory: int = MEMORY
    max_trends: int = MAX_TRENDS
    strategy: Strategy | None = None


DEFAULTS = Detection()


def detection(plan: Plan, memory: str | int | None, max_trends: int | None, strategy: str | None) -> Detection | None:
    """Options as given to a call, checked; None where none is given."""
    if memory is None and max_trends is None and strategy is None:
        return None
    if plan.returns == "aggregates":
        raise ValueError("memory, max_trends and strategy are for queries that show trends, not for aggregates")
    if max_trends is not None and max_trends < 1:
        raise ValueError(f"max_trends is 1 or more, not {max_trends}")
    if strategy is not None and strategy not in STRATEGIES:
        raise ValueError(f"strategy is one of {', '.join(STRATEGIES)}, not {strategy}")
    if strategy not in (None, "m-cet") and plan.choice is not None:
        raise ValueError(f"{plan.choice.kind.upper()} walks from event to event (m-cet); it has no other strategy")
    if strategy not in (None, "m-cet") and plan.is_complete and not plan.reduced_graph_is_exact:
        raise ValueError("complete trends that need a check at each step have one strategy, m-cet")
    return Detection(
        MEMORY if memory is None else as_bytes(memory),
        MAX_TRENDS if max_trends is None else max_trends,
        strategy,  # type: ignore[arg-type]
    )


def as_bytes(memory: str | int) -> int:
    """`"512 MB"`, or a number of bytes."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", str(memory))
    if found is None or found[2].upper() not in _UNITS:
        raise ValueError(f'memory is a size such as "512 MB" or "2 GB", not {memory!r}')
    size = int(float(found[1]) * _UNITS[found[2].upper()])
    if size < LEAST_MEMORY:
        raise ValueError(f"memory is at least {LEAST_MEMORY >> 20} MB, not {memory!r}")
    return size
