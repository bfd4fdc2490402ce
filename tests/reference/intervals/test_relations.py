"""Allen's thirteen relations, against the definitions of the thesis (Tables 5.1 and 5.2)."""

from __future__ import annotations

import itertools

import pytest

from .by_hand import pattern
from .query import Constraint
from .relations import INVERSE, RELATIONS, can_hold, groups, related, relation_of

INTERVALS = list(itertools.combinations(range(6), 2))

# Table 5.1, A above B. The thesis prints `A.ts < B.ts < A.te = B.te` for finishes; here this is finished-by, as Allen
# has it: A finishes B when A begins later than B and ends with it.
DRAWN = {
    "before": ("##     ", "    ###"),
    "starts": ("###    ", "#######"),
    "meets": ("###    ", "   ####"),
    "overlaps": ("#####  ", "  #####"),
    "during": ("  ###  ", "#######"),
    "finishes": ("    ###", "#######"),
    "finished-by": ("#######", "    ###"),
    "equals": ("#######", "#######"),
}


@pytest.mark.parametrize("relation", DRAWN)
def test_the_drawings_of_table_5_1(relation):
    a, b = ((drawn.index("#"), drawn.rindex("#") + 1) for drawn in DRAWN[relation])
    assert relation_of(a, b) == relation
    assert relation_of(b, a) == INVERSE[relation]


# Tables 5.1 and 5.2: the order of the four ends.
ORDERS = {
    "before": "A.ts < A.te < B.ts < B.te",
    "meets": "A.ts < A.te = B.ts < B.te",
    "starts": "A.ts = B.ts < A.te < B.te",
    "equals": "A.ts = B.ts < A.te = B.te",
    "started-by": "A.ts = B.ts < B.te < A.te",
    "overlaps": "A.ts < B.ts < A.te < B.te",
    "finished-by": "A.ts < B.ts < A.te = B.te",
    "contains": "A.ts < B.ts < B.te < A.te",
    "during": "B.ts < A.ts < A.te < B.te",
}


@pytest.mark.parametrize("relation", ORDERS)
def test_the_orders_of_tables_5_1_and_5_2(relation):
    words = ORDERS[relation].split()
    for a, b in itertools.product(INTERVALS, INTERVALS):
        ends = dict(zip(("A.ts", "A.te", "B.ts", "B.te"), (*a, *b), strict=True))
        steps = zip(words[0::2], words[1::2], words[2::2], strict=False)
        as_printed = all(ends[x] < ends[y] if sign == "<" else ends[x] == ends[y] for x, sign, y in steps)
        assert related(a, relation, b) == as_printed


def test_exactly_one_relation_holds_and_all_thirteen_occur():
    assert len(RELATIONS) == 13
    seen = {relation_of(a, b) for a, b in itertools.product(INTERVALS, INTERVALS)}
    assert seen == set(RELATIONS)


def test_the_inverse_is_the_relation_seen_from_the_other_side():
    for a, b in itertools.product(INTERVALS, INTERVALS):
        assert relation_of(b, a) == INVERSE[relation_of(a, b)]


def test_turning_time_round_exchanges_starts_and_finishes():
    turned = {
        "before": "after",
        "meets": "met-by",
        "overlaps": "overlapped-by",
        "starts": "finishes",
        "started-by": "finished-by",
    }
    for a, b in itertools.product(INTERVALS, INTERVALS):
        relation = relation_of(a, b)
        backwards = relation_of((-a[1], -a[0]), (-b[1], -b[0]))
        assert backwards == {**turned, **{new: old for old, new in turned.items()}}.get(relation, relation)


# ------------------------------------------------------------------------------------------ constraints that never hold


@pytest.mark.parametrize(
    ("written", "possible"),
    [
        ("A before B", True),
        ("A before B AND B before C AND C before A", False),
        ("A before B AND B before C AND A before C", True),
        ("A before B AND B before C AND A meets C", False),
        ("A meets; before B AND A after; before B", True),
        ("A meets B AND A before B", False),
        ("A meets B AND B met-by A", True),
        ("A starts B AND B starts C AND A equals; contains C", False),
        ("A overlaps B AND B overlaps C AND A before; meets; overlaps C", True),
        ("A before B AND C before D AND D before C", False),
        ("A during B AND B during C AND C during D AND D during E", True),
        ("A during B AND B during C AND C during D AND D during E AND E during A", False),
        ("A starts B AND A finishes C AND B finishes D AND C starts D AND A during D", True),
    ],
)
def test_constraints_that_can_and_cannot_hold_together(written, possible):
    query = pattern(written)
    assert can_hold([d.name for d in query.definitions], query.constraints) is possible


def test_two_relations_compose_as_on_the_grid():
    """A r B and B s C allow exactly the relations of A and C that some intervals of a grid have."""
    occurring = set()
    for a, b, c in itertools.product(INTERVALS, repeat=3):
        occurring.add((relation_of(a, b), relation_of(b, c), relation_of(a, c)))
    for triple in itertools.product(RELATIONS, repeat=3):
        constraints = [Constraint(*c) for c in zip("ABA", ((r,) for r in triple), "BCC", strict=True)]
        assert can_hold("ABC", constraints) == (triple in occurring)


def test_groups_of_related_names():
    query = pattern("A before B AND D before C AND B before E")
    assert groups("ABCDE", query.constraints) == [["A", "B", "E"], ["C", "D"]]
