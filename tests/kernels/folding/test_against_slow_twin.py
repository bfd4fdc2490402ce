"""The compiled kernels against Python integers."""

from hypothesis import given

from tests import profiles
from tests.kernels.folding import slow_twin
from tests.kernels.folding.cases import WILD, folded, streams
from tests.kernels.folding.test_against_aggregates import assert_same
from trendweave.kernels.folding import extend, finish


@profiles.examples(60)
@given(streams(floats=WILD))
def test_floats_of_all_sizes(stream):
    assert_same(folded(stream, slow_twin.extend, slow_twin.finish), folded(stream, extend, finish))


@profiles.examples(60)
@given(streams(most_rows=60))
def test_long_streams(stream):
    assert_same(folded(stream, slow_twin.extend, slow_twin.finish), folded(stream, extend, finish))
