"""Folded in pieces or aggregated at once: the same numbers, whatever the windows, the values and the cuts."""

import math

from hypothesis import given

from tests import profiles
from tests.kernels.folding.cases import ODD, SMALL, at_once, folded, streams
from trendweave.kernels.folding import extend, finish
from trendweave.results.summaries import from_arrow, to_arrow


def same(one, other):
    if isinstance(one, float) and isinstance(other, float):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        return math.isclose(one, other, rel_tol=1e-9)
    return type(one) is type(other) and one == other


def assert_same(expected, actual):
    assert expected.keys() == actual.keys()
    for name, (count, measured) in expected.items():
        other_count, others = actual[name]
        assert same(count, other_count), name
        assert all(same(a, b) for a, b in zip(measured, others, strict=True)), (name, measured, others)


@profiles.examples(120)
@given(streams())
def test_exact_numbers(stream):
    assert_same(at_once(stream), folded(stream, extend, finish))


@profiles.examples(40)
@given(streams(whole=SMALL))
def test_floats(stream):  # of numbers that floats hold, however they are added
    assert_same(at_once(stream, "float64"), folded(stream, extend, finish, "float64"))


@profiles.examples(40)
@given(streams(floats=ODD))
def test_not_a_number_and_infinities(stream):
    assert_same(at_once(stream), folded(stream, extend, finish))


@profiles.examples(25)
@given(streams(floats=ODD))
def test_written_and_read_again(stream):
    def through(algebra, summaries):
        return from_arrow(algebra, to_arrow(algebra, summaries))

    assert_same(folded(stream, extend, finish), folded(stream, extend, finish, through=through))
