"""How many random cases a test tries: some in CI, many times more at night (HYPOTHESIS_PROFILE=nightly)."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci")
_FACTOR = {"ci": 1, "nightly": 30}

# New random examples on every run; a failure prints a line that reproduces it. No deadline, because the first call of a
# kernel compiles it; and no test fails because a busy machine draws its cases slowly.
settings.register_profile(
    "ci",
    derandomize=False,
    print_blob=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=60,
)
settings.register_profile("nightly", settings.get_profile("ci"), max_examples=60 * _FACTOR["nightly"])


def examples(in_ci: int) -> settings:
    """A decorator for tests that want another number of cases than the profile has."""
    return settings(max_examples=in_ci * _FACTOR[PROFILE])
