"""How long candidates are: sums of exponential times, one for each run of symbols behind the first (thesis, 3.4.3).

The distribution of such a sum is hypoexponential. Its closed form fails where two rates are equal and loses all digits
where many are alike, so it is found from its Laplace transform, a product of one factor for each rate, by Talbot's
contour. The product of a sequence is that of its two halves: a few complex numbers tell all that is needed of a half.
Times are in windows: 1 is the length of the window.
"""

from __future__ import annotations

import numpy as np

#: Points of the contour: about seven digits.
POINTS = 12


def _contour() -> tuple[np.ndarray, np.ndarray]:
    """Points and weights of Talbot's contour for the time 1 (Abate and Valko, 2004)."""
    theta = np.arange(1, POINTS) * np.pi / POINTS
    scale = 2 * POINTS / 5
    cotangent = 1 / np.tan(theta)
    points = np.append(scale + 0j, scale * theta * (cotangent + 1j))
    slopes = 1 + 1j * (theta + (theta * cotangent - 1) * cotangent)
    weights = np.append(0.5 * np.exp(scale), np.exp(points[1:]) * slopes) * scale / POINTS
    return points, weights


_AT, _WEIGHTS = _contour()
_REACHED, _SUMMED = _WEIGHTS / _AT, _WEIGHTS / _AT**2


def factor(rates: np.ndarray) -> np.ndarray:
    """What a run of symbols adds to a product.

    Args:
        rates: How often it occurs per window, on average.

    Returns:
        The factors, with a last axis of points.
    """
    return rates[..., None] / (rates[..., None] + _AT)


def inside_window(products: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many candidates lie inside a window, and how long those are.

    Args:
        products: Of the factors of all runs behind the first; ones where there are none.

    Returns:
        P(X < 1), and E(X | X < 1).
    """
    within = np.clip((products @ _REACHED).real, 0.0, 1.0)
    area = np.clip((products @ _SUMMED).real, 0.0, within)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(within > 1e-12, 1 - area / within, 0.0)
    return within, np.clip(mean, 0.0, 1.0)
