"""NOT of one event inside a pattern and behind it: what is folded forgets what was blocked."""

from hypothesis import given

from tests import profiles
from tests.kernels.folding import slow_twin
from tests.kernels.folding.cases import SMALL, at_once, blocked_streams, folded
from tests.kernels.folding.test_against_aggregates import assert_same
from trendweave.kernels.folding import extend, finish


@profiles.examples(120)
@given(blocked_streams())
def test_exact_numbers(stream):
    assert_same(at_once(stream), folded(stream, extend, finish))


@profiles.examples(30)
@given(blocked_streams(whole=SMALL))
def test_floats(stream):  # of numbers that floats hold, however they are added
    assert_same(at_once(stream, "float64"), folded(stream, extend, finish, "float64"))


@profiles.examples(30)
@given(blocked_streams(most_rows=60))
def test_long_streams(stream):
    assert_same(folded(stream, slow_twin.extend, slow_twin.finish), folded(stream, extend, finish))
