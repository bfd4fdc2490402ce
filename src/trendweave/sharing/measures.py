"""What a unit measures: as few sums and extrema as serve the aggregates of all of its queries.

A measure belongs to all queries alike: it marks the states whose events count. Queries that use a state agree about its
mark, and so do the states of a part, as they are computed together; where queries do not agree, there is one
more measure. So what is measured never stands in the way of a common state.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from trendweave.planning.plan import AggregateColumn, Path, Plan
from trendweave.sharing.merged import MeasureKind, MergedMeasure, MergedQueries


def find_measures(plans: Sequence[Plan], merged: MergedQueries) -> MergedQueries:
    """Find what is to be measured.

    Args:
        plans: The plans that were merged.
        merged: Their automaton, with parts.

    Returns:
        The same with measures.
    """
    part_of = {state: number for number, part in enumerate(merged.parts) for state in part.states}
    marks: list[_Marks] = []
    known: dict[tuple[MeasureKind, Path | None], list[int]] = defaultdict(list)
    reads = []
    for plan, places in zip(plans, merged.places, strict=True):
        of_plan = []
        for column in plan.aggregates:
            wanted = {
                place: state.variable == column.variable
                for state, place in zip(plan.template.states, places, strict=True)
            }
            numbers = []
            for kind in measured_kinds(column):
                path = None if kind == "count" else column.path
                number = next((n for n in known[kind, path] if marks[n].takes(wanted, part_of)), len(marks))
                if number == len(marks):
                    marks.append(_Marks(kind, path))
                    known[kind, path].append(number)
                marks[number].add(wanted, part_of)
                numbers.append(number)
            of_plan.append(tuple(numbers))
        reads.append(tuple(of_plan))
    measures = tuple(one.as_measure(part_of) for one in marks)
    return replace(merged, measures=measures, reads=tuple(reads))


def measured_kinds(column: AggregateColumn) -> Iterator[MeasureKind]:
    """What an aggregate is made of; nothing where trends are counted."""
    if column.variable is None:
        return
    if column.path is None:
        yield "count"
    elif column.function == "COUNT":
        yield "known"
    elif column.function == "MIN":
        yield "min"
    elif column.function == "MAX":
        yield "max"
    else:
        yield "sum"
        yield "known"


@dataclass(slots=True)
class _Marks:
    """Marks of states, and of parts for those that nobody has asked about."""

    kind: MeasureKind
    path: Path | None
    of_state: dict[int, bool] = field(default_factory=dict)
    of_part: dict[int, bool] = field(default_factory=dict)

    def takes(self, wanted: dict[int, bool], part_of: dict[int, int]) -> bool:
        """Do these marks agree with those that are there?"""
        return all(
            self.of_state.get(state, mark) == mark and self.of_part.get(part_of[state], mark) == mark
            for state, mark in wanted.items()
        )

    def add(self, wanted: dict[int, bool], part_of: dict[int, int]) -> None:
        self.of_state |= wanted
        for state, mark in wanted.items():
            self.of_part.setdefault(part_of[state], mark)

    def as_measure(self, part_of: dict[int, int]) -> MergedMeasure:
        marked = (
            state for state, part in sorted(part_of.items()) if self.of_state.get(state, self.of_part.get(part, False))
        )
        return MergedMeasure(self.kind, self.path, tuple(marked))
