"""A-Seq's examples of several queries (6 to 9), and random ones against the twin of one query."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as hs

from tests.profiles import examples
from tests.reference.brute_force import trends
from tests.reference.pattern import Event, Seq
from tests.reference.query import Moving, Query

from .chop_connect import Answers, Arrival, ChopConnect, PrefixSharing, SnapshotRow, prefixes

CASES = ("VKindle", "BKindle", "VCase", "BCase")
EXAMPLE_6 = {
    "Q1": CASES,
    "Q2": ("VKindle", "BKindle", "VKindleFire"),
    "Q3": (*CASES, "VeBook", "BeBook"),
    "Q4": (*CASES, "VLight", "BLight"),
    "Q5": ("ViPad", "VKindleFire", "VKindle", "BKindle"),
}
FIRST_FOUR = {name: pattern for name, pattern in EXAMPLE_6.items() if name != "Q5"}


def arrivals(written: str) -> list[Arrival]:
    """`a1 b2`: type and time."""
    return [(word[0].upper(), int(word[1:])) for word in written.split()]


def plain(pattern: tuple[str, ...], window: float, stream: list[Arrival]) -> list[tuple[float, int]]:
    """The answers of one query, from all of its trends."""
    rows = [{"type": kind, "time": time} for kind, time in stream]
    query = Query(Seq(tuple(Event(kind, f"v{place}") for place, kind in enumerate(pattern))), window=Moving(window))
    counts = Counter(found.window.end for found in trends(query, rows))
    return [(time, counts[time]) for time in sorted({time for kind, time in stream if kind == pattern[-1]})]


def test_tree_of_example_7() -> None:
    """Figure 9: Q1 to Q4 share their first two types, Q1, Q3 and Q4 four."""
    nodes = prefixes(FIRST_FOUR.values())
    assert len(nodes) == 9
    assert sum(len(pattern) for pattern in FIRST_FOUR.values()) == 19
    assert [len(node) for node in nodes] == [1, 2, 3, 3, 4, 5, 5, 6, 6]


def test_an_event_is_one_update_in_the_tree() -> None:
    """Example 7: a bKindle is one update of a PreTree in place of four of PreCntrs."""
    tree = PrefixSharing(FIRST_FOUR, 100)
    tree.run([("VKindle", 1), ("BKindle", 2)])
    assert tree.updates == 1


def test_kindles_of_example_6() -> None:
    kinds = [
        "ViPad",
        "VKindle",
        "VKindleFire",
        "VKindle",
        "BKindle",
        "VCase",
        "BCase",
        "VKindleFire",
        "VLight",
        "BLight",
    ]
    stream = [(kind, time) for time, kind in enumerate([*kinds, "VeBook", "BKindle", "BeBook"])]
    shared = PrefixSharing(FIRST_FOUR, 9).run(stream)
    for name, pattern in FIRST_FOUR.items():
        assert shared[name] == plain(pattern, 9, stream)
    # Q5 has (VKindle, BKindle) at its end: counted once, with Q2, which has it in front.
    chopped = ChopConnect({"Q5": (EXAMPLE_6["Q5"][:2], CASES[:2]), "Q2": (CASES[:2], ("VKindleFire",))}, 9)
    assert chopped.run(stream) == {name: plain(EXAMPLE_6[name], 9, stream) for name in ("Q5", "Q2")}
    assert len(chopped.counters) == 3


def test_example_8() -> None:
    """(A, B, C) and (D, E): when e arrives at 10, a1 expires, d1 has nothing of a2, d2 one of a2 and none of a3."""
    chopped = ChopConnect({"q": (("A", "B", "C"), ("D", "E"))}, 9)
    answers = chopped.run(arrivals("a1 b2 c3 a4 d5 b6 c7 a8 d9 e10"))
    first, second = chopped.counters["D", "E"]
    assert first.snapshots["q", 1] == [SnapshotRow("a1", 10, 1), SnapshotRow("a2", 13, 0)]
    assert second.snapshots["q", 1] == [SnapshotRow("a1", 10, 3), SnapshotRow("a2", 13, 1), SnapshotRow("a3", 17, 0)]
    assert (first.counts, second.counts) == ([1, 1], [1, 1])
    assert answers == {"q": [(10, 1)]}


def test_example_9() -> None:
    """(A, B, C), (D, E), (F, G): tag a2 has 1 on d1's counter and 2 on d2's when f1 arrives at 12, a1 is expired."""
    chopped = ChopConnect({"q": (("A", "B", "C"), ("D", "E"), ("F", "G"))}, 11)
    stream = arrivals("a1 a3 b4 c5 d6 c7 d8 e10 f12 g13")
    answers = chopped.run(stream)
    first, second = chopped.counters["D", "E"]
    assert [row.count for row in first.snapshots["q", 1] if row.tag == "a2"] == [1]
    assert [row.count for row in second.snapshots["q", 1] if row.tag == "a2"] == [2]
    (third,) = chopped.counters["F", "G"]
    assert third.snapshots["q", 2] == [SnapshotRow("a2", 14, 3)]
    assert answers == {"q": [(13, 3)]}


# --------------------------------------------------------------------------------------------------- random workloads

KINDS = hs.sampled_from("AABBCD")


@hs.composite
def streams(draw: hs.DrawFn) -> list[Arrival]:
    time, stream = 0, []
    for kind in draw(hs.lists(KINDS, max_size=14)):
        time += draw(hs.sampled_from([1, 1, 1, 0, 2, 4]))
        stream.append((kind, time))
    return stream


@given(hs.lists(hs.lists(KINDS, max_size=3), min_size=2, max_size=5), hs.integers(1, 12), streams())
@examples(60)
def test_random_prefix_trees(endings: list[list[str]], window: int, stream: list[Arrival]) -> None:
    patterns = {f"q{number}": ("A", *ending) for number, ending in enumerate(endings)}
    assert_as_plain(PrefixSharing(patterns, window).run(stream), patterns, window, stream)


@given(
    hs.lists(hs.sampled_from([("A", "B"), ("B",), ("C", "A"), ("D",), ("A",)]), min_size=2, max_size=3),
    hs.lists(hs.sampled_from([("A", "B"), ("B",), ("C", "A"), ("D",), ("A",)]), min_size=1, max_size=3),
    hs.integers(1, 12),
    streams(),
)
@examples(80)
def test_random_chops(one: list[tuple], other: list[tuple], window: int, stream: list[Arrival]) -> None:
    chopped = {"one": one, "other": other}
    patterns = {name: tuple(kind for stretch in parts for kind in stretch) for name, parts in chopped.items()}
    assert_as_plain(ChopConnect(chopped, window).run(stream), patterns, window, stream)


def assert_as_plain(answers: Answers, patterns: dict[str, tuple[str, ...]], window: int, stream: list[Arrival]) -> None:
    for name, pattern in patterns.items():
        assert answers[name] == plain(pattern, window, stream), (name, pattern)
