"""`parse(print(tree)) == tree`, for any tree."""

from __future__ import annotations

from hypothesis import given

from tests.language.trees import queries
from tests.profiles import examples
from trendweave.language import QueryTree, parse, print_query
from trendweave.language import syntax_tree as st


@given(queries)
@examples(300)
def test_a_printed_tree_is_read_back_unchanged(tree: QueryTree) -> None:
    text = print_query(tree)
    again, _ = parse(text)
    assert again == tree
    assert print_query(again) == text


def test_trees_compare_by_content_and_not_by_place() -> None:
    one, _ = parse("PATTERN A WHERE A.x > 1")
    other, _ = parse("PATTERN   A\n\nWHERE A.x  > 1")
    assert one == other
    assert hash(one) == hash(other)
    assert one.pattern.span != other.where[0].span


def test_a_whole_number_is_not_a_float_and_not_a_boolean() -> None:
    assert len({st.Literal(1), st.Literal(1.0), st.Literal(True)}) == 3
