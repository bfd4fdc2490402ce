"""What trends carry on a GPU: floats, residues modulo a prime, or codes whose largest is wanted; and whole numbers from
their residues modulo several primes.

Residues are below 2**50, so that a processor and a GPU multiply them by floats: the quotient of a product is off by one
at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cache

import numpy as np

from trendweave.kernels.inputs import NO_TREND

#: Sums that are found beside the number of trends in one go; none, or so many.
SUMS = 2


class Kind(IntEnum):
    """The same numbers as KIND in `numbers.cu`."""

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


# Whole numbers from residues

#: Bits that each prime adds for certain.
PRIME_BITS = 49
_BELOW = 2**50
_WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)


def is_prime(number: int) -> bool:
    """Whether an odd number below 2**64 is prime (Miller and Rabin; these witnesses decide)."""
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for witness in _WITNESSES:
        power = pow(witness, odd, number)
        if power in (1, number - 1, 0):
            continue
        for _ in range(twos - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True


@cache
def prime(place: int) -> int:
    """The largest primes below 2**50, the largest first."""
    candidate = (prime(place - 1) if place else _BELOW + 1) - 2
    while not is_prime(candidate):
        candidate -= 2
    return candidate


def primes_for(bits: np.ndarray) -> np.ndarray:
    """How many primes tell whole numbers of so many bits, and their signs, apart."""
    return (bits + 1) // PRIME_BITS + 1


def times(a: np.ndarray, b: int, modulus: int) -> np.ndarray:
    """Products of residues in int64, modulo a prime."""
    quotient = (a.astype(np.float64) * (float(b) / modulus)).astype(np.int64)
    with np.errstate(over="ignore"):
        rest = a * np.int64(b) - quotient * np.int64(modulus)
    rest += np.where(rest < 0, modulus, 0)
    return rest - np.where(rest >= modulus, modulus, 0)


def find_digits(residues: list[np.ndarray]) -> list[np.ndarray]:
    """Digits d of the numbers d[0] + prime(0) * (d[1] + prime(1) * (d[2] + ...)), from their residues."""
    digits: list[np.ndarray] = []
    for place, given in enumerate(residues):
        modulus = prime(place)
        digit = given.astype(np.int64)
        for earlier, known in enumerate(digits):
            inverse = pow(prime(earlier), -1, modulus)
            difference = (digit - known) % modulus
            digit = times(difference, inverse, modulus)
        digits.append(digit)
    return digits


def read_residues(residues: list[np.ndarray]) -> np.ndarray:
    """Whole numbers, of either sign, from their residues modulo the first primes; int64 if all of them fit."""
    digits = find_digits(residues)
    product = 1
    for place in range(len(digits)):
        product *= prime(place)
    above = np.zeros(digits[0].size, np.bool_)  # whether the number is beyond half of the product: it is negative
    decided = np.zeros(digits[0].size, np.bool_)
    half = product // 2
    halves = []
    for place in range(len(digits)):
        halves.append(half % prime(place))
        half //= prime(place)
    for digit, middle in zip(reversed(digits), reversed(halves), strict=True):
        above |= ~decided & (digit > middle)
        decided |= digit != middle
    upper = np.abs(_leading(digits, above))
    if upper.size == 0 or upper.max() < 2.0**62:
        with np.errstate(over="ignore"):
            total = np.zeros(digits[0].size, np.int64)
            for place in reversed(range(len(digits))):
                total = total * np.int64(prime(place)) + digits[place]
            return total - np.where(above, np.int64(_wrapped(product)), np.int64(0))
    numbers = np.zeros(digits[0].size, object)
    for place in reversed(range(len(digits))):
        numbers = numbers * prime(place) + digits[place].astype(object)
    return np.where(above, numbers - product, numbers)


def _leading(digits: list[np.ndarray], above: np.ndarray) -> np.ndarray:
    """The numbers as floats, good enough to tell how large they are: of a negative one each digit is counted down from
    the largest digit."""
    total = np.zeros(digits[0].size)
    with np.errstate(over="ignore"):
        for place in reversed(range(len(digits))):
            shown = np.where(above, prime(place) - 1 - digits[place], digits[place])
            total = total * float(prime(place)) + shown
    return total


def _wrapped(number: int) -> int:
    """The int64 of the lowest 64 bits."""
    low = number & (2**64 - 1)
    return low - 2**64 if low >= 2**63 else low
