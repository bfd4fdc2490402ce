"""Words for what merged queries have in common."""

from __future__ import annotations

from collections.abc import Iterator

from trendweave.language.syntax_tree import type_text
from trendweave.sharing.merged import MergedQueries, SharedPart

#: Parts that are written out of a long list.
_MOST_PARTS = 12


def describe_merged(merged: MergedQueries) -> Iterator[tuple[str, str]]:
    """What is shared by queries in one automaton: labels and texts.

    Args:
        merged: The queries.
    """
    before = sum(map(len, merged.places))
    yield "states", f"{len(merged.states):,} of {before:,}; {len(merged.prefixes):,} of beginnings that queries share"
    if len(merged.windows) > 1:
        yield "windows", f"{len(merged.windows):,} kinds, side by side"
    # Of equal words one is enough: they differ in what is around.
    parts = {describe_part(merged, part): len(merged.queries_of(part)) for part in merged.common}
    shown = sorted(parts.items(), key=lambda found: (-found[1], found[0]))
    for text, queries in shown[:_MOST_PARTS]:
        yield f"part {text}", f"of {queries:,} queries"
    if len(shown) > _MOST_PARTS:
        yield "parts", f"{len(shown) - _MOST_PARTS:,} more"


def describe_part(merged: MergedQueries, part: SharedPart) -> str:
    """A part by the type that it reads, such as `B`, or `B+` where its events follow each other.

    Args:
        merged: The queries.
        part: One of their parts.
    """
    state = part.states[0]
    looped = any(step.source == step.target == state for step in merged.steps)
    return type_text(merged.states[state].reading.type) + ("+" if looped else "")
