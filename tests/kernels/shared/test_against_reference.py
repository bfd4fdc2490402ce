"""Many queries at once: the kernel against the slow twin, under all settings."""

import numpy as np
import pytest
from hypothesis import given

from tests.kernels.shared.cases import cases, to_answers, to_measures, to_rows, to_template
from tests.profiles import examples
from tests.reference.merged_templates import answers, answers_by_listing
from trendweave.kernel_cache.kernel import always_compile
from trendweave.kernels.many_queries import aggregate_shared

pytestmark = pytest.mark.usefixtures("whole_numbers")

SETTINGS = ["auto", "always", "never"]


@examples(60)
@given(cases(most_rows=7))
def test_the_twin_agrees_with_a_list_of_all_trends(case):
    assert answers(case[0]) == answers_by_listing(case[0])


@examples(150)
@given(cases(most_rows=30))
def test_exact_numbers(case):
    case, states = case
    expected = answers(case)
    for sharing in SETTINGS:
        results = aggregate_shared(to_rows(case), to_template(case, states), to_measures(case), sharing)
        assert to_answers(results) == expected
        if sharing == "never":
            assert results.counts.bursts_shared == 0
        if sharing == "always":
            assert results.counts.snapshots >= results.counts.bursts_shared


@examples(60)
@given(cases(most_rows=30, floats=True))
def test_floats(case):
    case, states = case
    expected = answers(case)
    for sharing in SETTINGS:
        for numbers in ("exact", "float64"):
            results = aggregate_shared(
                to_rows(case), to_template(case, states), to_measures(case, True), sharing, numbers
            )
            found = to_answers(results)
            assert found.keys() == expected.keys()
            for key, answer in expected.items():
                assert found[key].count == pytest.approx(answer.count, rel=1e-12)
                assert found[key].extrema == answer.extrema
                scale = [sum(abs(v) for v in values) * answer.count for _, values in case.linear]
                for got, wanted, size in zip(found[key].linear, answer.linear, scale, strict=True):
                    assert got == pytest.approx(wanted, rel=1e-9, abs=1e-12 * size)
        if numbers == "float64":
            assert results.results.count.dtype == np.float64


def measures_and_blocks(case):
    return bool(case[0].linear) and any(blocker >= 0 for _, _, blocker in case[0].transitions)


@pytest.mark.parametrize("whole_numbers", ["checked"], indirect=True)
@examples(40)
@given(cases(most_rows=30).filter(measures_and_blocks))
def test_compiled_loops_agree(case):
    """One text serves all templates of a shape, so that few are compiled: those with all that a text may have."""
    case, states = case
    expected = answers(case)
    for sharing in SETTINGS:
        with always_compile():
            results = aggregate_shared(to_rows(case), to_template(case, states), to_measures(case), sharing)
        assert to_answers(results) == expected
