"""How many random cases a test tries, and which: HYPOTHESIS_PROFILE is one of these.

ci       some cases, the same on every run: it fails when a change breaks something, and not by chance; the default
random   as many, and new ones on every run
nightly  many times more, new ones on every run, and the tests that are marked nightly
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci")
_FACTOR = {"ci": 1, "random": 1, "nightly": 30}

# A failure prints a line that reproduces it. No deadline, because the first call of a kernel compiles it; and no test
# fails because a busy machine draws its cases slowly.
for _name, _factor in _FACTOR.items():
    settings.register_profile(
        _name,
        derandomize=_name == "ci",
        print_blob=True,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        max_examples=60 * _factor,
    )


def examples(in_ci: int) -> settings:
    """A decorator for tests that want another number of cases than the profile has."""
    return settings(max_examples=in_ci * _FACTOR[PROFILE])
