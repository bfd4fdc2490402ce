"""A search in which the cores of this process take turns: compiled loops let other threads work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from trendweave.devices.cores import count_cores
from trendweave.devices.pool import Pool, is_in_pool
from trendweave.programs.operators.joins.candidates import Candidates
from trendweave.programs.operators.joins.ways import Search, TakeAll

#: Parts per core: what one core has left over another one takes.
_PARTS_PER_CORE = 4
#: So many candidates are not worth to be dealt out.
_FEW = 1_000_000


@dataclass(frozen=True)
class InThreads:
    """The same pairs as of one core, in the same order.

    Attributes:
        search: What each core does.
        cores: How many there are.
    """

    search: Search
    cores: int

    @property
    def candidates(self) -> Candidates:
        return self.search.candidates

    def find(self, first: int, last: int, limit: int) -> tuple[int, np.ndarray, np.ndarray]:
        sizes = np.cumsum(self.candidates.high[first:last] - self.candidates.low[first:last])
        if last - first < 2 or sizes[-1] < _FEW:
            return self.search.find(first, last, limit)
        wanted = np.linspace(0, sizes[-1], self.cores * _PARTS_PER_CORE + 1)[1:-1]
        borders = np.unique([first, *(first + np.searchsorted(sizes, wanted, "right")), last]).tolist()
        with Pool(self.cores) as pool:
            found = list(pool.map(lambda part: self.search.find(part[0], part[1], limit), pairwise(borders)))
        events, members = ([part[place] for part in found] for place in (1, 2))
        complete = all(done == end - begin for (begin, end), (done, _, _) in zip(pairwise(borders), found, strict=True))
        return last - first if complete else 0, np.concatenate(events), np.concatenate(members)


def search_in_threads(choose: Callable[[Candidates], Search], sides: Sequence[Candidates]) -> list[Search]:
    """Searches of both sides by all cores; what only lists numbers stays on one.

    Args:
        choose: Makes the search of a side.
        sides: What each side may find.
    """
    cores = count_cores()
    if cores < 2 or is_in_pool() or sum(side.pairs for side in sides) < _FEW:
        return [choose(side) for side in sides]

    def prepare(side: Candidates) -> Search:
        search = choose(side)
        search.find(0, 0, 0)  # what all cores need is made by one
        return search

    with Pool(cores) as pool:
        found = list(pool.map(prepare, sides))
    return [search if isinstance(search, TakeAll) else InThreads(search, cores) for search in found]
