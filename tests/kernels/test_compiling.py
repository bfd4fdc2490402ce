"""What kernels compute does not depend on whether they are compiled."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

REPOSITORY = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="these tests run so themselves"),
]


def run_python(*arguments, **environment):
    return subprocess.run(
        [sys.executable, *arguments], cwd=REPOSITORY, env={**os.environ, **environment}, capture_output=True, text=True
    )


def test_kernels_agree_with_brute_force_without_compiling():
    """Plain Python runs the same code, so that coverage sees it and an index out of range is an error. Integers wrap
    around on purpose in both, but only plain Python warns of it."""
    done = run_python(
        "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-W", "ignore:overflow encountered:RuntimeWarning",
        "tests/kernels/test_against_brute_force.py",
        "tests/kernels/test_against_propagation.py", "tests/kernels/test_large_numbers.py::test_sums_of_extreme_values",
        "tests/kernels/shared/test_hamlet.py", "tests/kernels/shared/test_large_numbers.py::test_every_border",
        NUMBA_DISABLE_JIT="1",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr
    assert " passed" in done.stdout
