"""What a place does with events for many programs at once."""

from __future__ import annotations

from collections.abc import Sequence

from trendweave.planning.plan import Path
from trendweave.programs.program import FAMILY, MEETS, Needs, Program
from trendweave.programs.shared.rows import RowsPlan


def unite_needs(rows: RowsPlan, sources: Sequence[Program]) -> Needs:
    """What all programs need together.

    Args:
        rows: What rows hold, with a view for each program.
        sources: The programs.

    Returns:
        Their needs as one.
    """
    needs = [source.needs for source in sources]
    types = {one.type for one in needs}
    rules = sorted({one.rule for one in needs if one.rule is not None})
    one_family = len(rows.families) == 1
    return Needs(
        time=needs[0].time,
        type=types.pop() if len(types) == 1 else None,
        read=tuple(sorted({name for one in needs for name in one.read})),
        named_types=_unite_types(needs),
        columns=rows.columns,
        flags=rows.flags,
        words=rows.words,
        only_flagged=not rows.every_row,
        together=rows.families[0].keys if one_family else ((FAMILY,), (MEETS,)),
        families=rows.families,
        merged=_find_merged(rows, needs) if one_family else (),
        rule=", ".join(rules) or None,
    )


def _unite_types(needs: Sequence[Needs]) -> frozenset[str] | None:
    named = [one.named_types for one in needs if one.named_types is not None]
    return frozenset[str]().union(*named) if len(named) == len(needs) else None


def _find_merged(rows: RowsPlan, needs: Sequence[Needs]) -> tuple[Path, ...]:
    """Keys that the rows of every result have in common."""
    common: set[Path] | None = None
    for view, one in zip(rows.views, needs, strict=True):
        own = {(view.shared_name(path[0]), *path[1:]) for path in one.merged}
        common = own if common is None else common & own
    return tuple(sorted(common or ()))
