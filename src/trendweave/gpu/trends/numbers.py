"""What trends carry on a card: floats, residues modulo a prime, or codes whose largest is wanted."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cache

import numpy as np

from trendweave.gpu.sources import cuda_text
from trendweave.kernels.inputs import NO_TREND

#: Sums that are found beside the number of trends in one go; none, or so many.
SUMS = 2


class Kind(IntEnum):
    """The same numbers as KIND in `trends_numbers.cu`."""

    FLOAT = 0
    RESIDUE = 1
    LARGEST = 2


TYPES = {Kind.FLOAT: np.float64, Kind.RESIDUE: np.uint64, Kind.LARGEST: np.int64}


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of one pass: their kind, and the prime of residues."""

    kind: Kind
    prime: int = 1

    @property
    def dtype(self) -> type[np.generic]:
        """How an array holds them."""
        return TYPES[self.kind]

    @property
    def zero(self) -> int:
        """What adds nothing."""
        return NO_TREND if self.kind is Kind.LARGEST else 0

    @property
    def modulus(self) -> tuple[np.uint64, np.float64]:
        """What kernels ask of the prime."""
        return np.uint64(self.prime), np.float64(1 / self.prime)


FLOATS = Numbers(Kind.FLOAT)
LARGEST = Numbers(Kind.LARGEST)


@cache
def kernel_text(name: str, kind: Kind, sums: int) -> str:
    """The text of a file of kernels for one kind of numbers."""
    return f"#define KIND {int(kind)}\n#define SUMS {sums}\n" + cuda_text("trends_numbers", name)
