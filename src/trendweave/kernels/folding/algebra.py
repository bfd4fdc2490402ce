"""What is counted and measured of trends whose rows are forgotten, and where its numbers stand in a summary.

A summary is a linear map over the states of a template (A-Seq, Section 3.1, prefix counters; a matrix of them where
windows overlap). Line r stands for the trends that were in state r before the rows, the last line for those that begin
among them; column j for those that are in state j after them. A map has several *parts*: the number of ways from r to
j, and one per linear component: what is counted or summed over the occurrences on all these ways.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from trendweave.kernels.folding.blockers import copy_blocked_states
from trendweave.kernels.inputs import Measure, Template

NUMBERS = ("exact", "float64")


class Measured(NamedTuple):
    """An aggregate without its arrays: its kind, the mask of variables whose occurrences count, whether values are
    floats, and the number of the column it reads.

    Measures with the same number of a column are handed the same values and the same `valid`, and share their numbers.
    None: a column of its own; for a count, none at all: every occurrence counts.
    """

    kind: str
    variables: int
    floats: bool = False
    column: int | None = None


class Component(NamedTuple):
    """What a part of a summary holds: `values` False counts occurrences that are valid, True adds their values up.
    `aggregate` is the number of the aggregate whose arrays are read, None where every occurrence counts."""

    variables: int
    aggregate: int | None
    values: bool
    floats: bool


class Extremum(NamedTuple):
    """The largest or smallest value of the given aggregate's arrays, over the occurrences of the variables."""

    variables: int
    aggregate: int
    largest: bool
    floats: bool


class Place(NamedTuple):
    """Where a measure finds its numbers: linear components or an extremum, None where it has none."""

    counted: int | None = None
    summed: int | None = None
    extremum: int | None = None


class Algebra(NamedTuple):
    """The description of summaries: hashable, equal where summaries may be put together. See `make_algebra`."""

    state_variable: tuple[int, ...]
    is_start: tuple[bool, ...]
    is_final: tuple[bool, ...]
    transitions: tuple[tuple[int, int], ...]
    measures: tuple[Measured, ...]
    exact: bool
    only_beginnings: bool
    linear: tuple[Component, ...]
    extrema: tuple[Extremum, ...]
    places: tuple[Place, ...]
    resets: tuple[tuple[int, int], ...] = ()

    @property
    def states(self) -> int:
        return len(self.state_variable)

    @property
    def lines(self) -> int:
        """Lines of a map. Where windows do not overlap nothing was before the rows, and only the last line is kept."""
        return 1 if self.only_beginnings else self.states + 1

    @property
    def parts(self) -> int:
        return 1 + len(self.linear)

    @property
    def cells(self) -> int:
        """Numbers of a summary, in the order [state after, part, line]."""
        return self.states * self.parts * self.lines

    @property
    def float_sums(self) -> tuple[int, ...]:
        """The components that are exact sums of floats: each has an exponent of its own, and marks."""
        return tuple(k for k, part in enumerate(self.linear) if part.floats and self.exact)

    @property
    def marks(self) -> int:
        """Marks of a summary, in the order [state after, float sums and then extrema, line]."""
        return self.states * (len(self.float_sums) + len(self.extrema)) * self.lines

    @property
    def codes(self) -> int:
        """Codes of a summary, in the order [state after, extremum, line]."""
        return self.states * len(self.extrema) * self.lines

    @property
    def template(self) -> Template:
        source, target = np.array(self.transitions, np.int64).reshape(-1, 2).T
        flags = (np.array(self.is_start, bool), np.array(self.is_final, bool))
        return Template(np.array(self.state_variable, np.int64), *flags, source, target)


def make_algebra(
    template: Template,
    measures: Sequence[Measured] = (),
    numbers: str = "exact",
    only_beginnings: bool = False,
    blockers: Mapping[int, Sequence[int]] | None = None,
    final_blockers: Mapping[int, Sequence[int]] | None = None,
) -> Algebra:
    """How trends of the template are summed up. `only_beginnings`: no trend goes on from one summary to the next.

    numbers   "exact": whole numbers of any size, sums of floats without rounding; "float64": counts and sums as floats
    blockers  transition -> variables of which no row may lie between its two events, strictly; `final_blockers`: final
              state -> variables of which no row may lie behind the last event. See `blockers.py`
    """
    resets: tuple[tuple[int, int], ...] = ()
    if blockers or final_blockers:
        template, resets = copy_blocked_states(template, blockers or {}, final_blockers or {})
    if numbers not in NUMBERS:
        raise ValueError(f"numbers is one of {NUMBERS}, not {numbers!r}")
    linear: list[Component] = []
    extrema: list[Extremum] = []
    places = []
    of_column: dict[int | None, int] = {}
    for number, measure in sorted(enumerate(measures), key=lambda pair: pair[1].kind == Measure.COUNT):
        of_column.setdefault(measure.column, number)  # counts last: they may come without values
    for number, measure in enumerate(measures):
        if measure.kind not in tuple(Measure):
            raise ValueError(f"the kind of a measure is one of {tuple(Measure)}, not {measure.kind!r}")
        aggregate: int | None = number
        if measure.column is not None:
            aggregate = of_column[measure.column]
        elif measure.kind == Measure.COUNT:
            aggregate = None
        if measure.kind in (Measure.MIN, Measure.MAX):
            places.append(Place(extremum=len(extrema)))
            extrema.append(Extremum(measure.variables, number, measure.kind == Measure.MAX, measure.floats))
            continue
        place = Place()
        if measure.kind in (Measure.COUNT, Measure.AVG):
            counted = Component(measure.variables, aggregate, False, False)
            place = place._replace(counted=number_component(linear, counted))
        if measure.kind in (Measure.SUM, Measure.AVG):
            summed = Component(measure.variables, aggregate, True, measure.floats)
            place = place._replace(summed=number_component(linear, summed))
        places.append(place)
    return Algebra(
        tuple(int(v) for v in template.state_variable),
        tuple(bool(f) for f in template.is_start),
        tuple(bool(f) for f in template.is_final),
        tuple((int(s), int(t)) for s, t in zip(template.source, template.target, strict=True)),
        tuple(Measured(str(m.kind), int(m.variables), bool(m.floats), m.column) for m in measures),
        numbers == "exact",
        only_beginnings,
        tuple(linear),
        tuple(extrema),
        tuple(places),
        resets,
    )


def number_component(known: list[Component], wanted: Component) -> int:
    """The component's number; a new one if it was not asked for before."""
    if wanted not in known:
        known.append(wanted)
    return known.index(wanted)
