"""What every trend of a query must contain: a sequence of mandatory symbols (thesis, 3.4.4, Table 3.2).

The thesis rewrites the text of a pattern; here the template, which is an automaton, is asked instead. A state that lies
on every way from a start to an end is mandatory, and every trend has a first and a last event. All between two of them
is `true*`. Conditions between events and NOTs are left out, so more is found than there is, never less.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from trendweave.language import syntax_tree as st
from trendweave.planning.plan import Plan, Template
from trendweave.store.patterns.rewriting.ways_through import Ways


@dataclass(frozen=True, slots=True)
class Symbol:
    """An event that every trend has.

    Attributes:
        name: The variables that it may be read as, for people.
        condition: What holds for it; None: nothing is known.
    """

    name: str
    condition: st.Expression | None


@dataclass(frozen=True, slots=True)
class Steps:
    """How many steps a trend takes from one of its events to another: at least, and at most (None: any number)."""

    least: int
    most: int | None

    @property
    def is_fixed(self) -> bool:
        """Whether the number is always the same."""
        return self.least == self.most

    def then(self, other: Steps) -> Steps:
        """Both, one after the other."""
        most = None if self.most is None or other.most is None else self.most + other.most
        return Steps(self.least + other.least, most)


@dataclass(frozen=True, slots=True)
class Necessary:
    """Symbols in the order in which every trend has them. The first is the trend's first event, the last its last one;
    where no step lies between two symbols they may be the same event.

    Attributes:
        symbols: At least one; where there is one alone, all trends have one event.
        gaps: The steps from each symbol to the next.
    """

    symbols: tuple[Symbol, ...]
    gaps: tuple[Steps, ...]

    def steps_between(self, first: int, last: int) -> Steps:
        """The steps from one symbol to another that is not before it."""
        steps = Steps(0, 0)
        for gap in self.gaps[first:last]:
            steps = steps.then(gap)
        return steps


def find_necessary(plan: Plan, template: Template, type_: str | None) -> Necessary | None:
    """The mandatory symbols of a template; None where it matches nothing.

    Args:
        plan: The plan that has the template.
        template: One of its templates.
        type_: The column that holds the type, if any.
    """
    ways = Ways.of(template)
    if not ways.starts:
        return None
    layers: list[tuple[int, ...]] = [(state,) for state in ways.on_every_way()]
    if layers and layers[0] == ways.starts:
        del layers[0]
    if layers and layers[-1] == ways.ends and not ways.is_repeated(layers[-1][0]):
        del layers[-1]
    layers.insert(0, ways.starts)
    if ways.ends != ways.starts or any(ways.following[state] for state in ways.ends) or len(layers) > 1:
        layers.append(ways.ends)
    gaps = [
        Steps(ways.shortest(one, other), ways.longest(one, other, until_first=number < len(layers) - 2))
        for number, (one, other) in enumerate(pairwise(layers))
    ]
    return Necessary(tuple(_make_symbol(plan, template, layer, type_) for layer in layers), tuple(gaps))


def _make_symbol(plan: Plan, template: Template, layer: tuple[int, ...], type_: str | None) -> Symbol:
    variables = tuple(dict.fromkeys(template.states[state].variable for state in layer))
    conditions = [find_condition(plan, variable, type_) for variable in variables]
    known = tuple(condition for condition in conditions if condition is not None)
    return Symbol(" or ".join(variables), st.any_of(known) if len(known) == len(conditions) else None)


def find_condition(plan: Plan, name: str, type_: str | None) -> st.Expression | None:
    """What holds for an event that is read as a variable: its type, its local predicates, and keys that are known."""
    variable = plan.variable(name)
    parts: list[st.Expression] = []
    if type_ is not None and variable.type is not None:
        parts.append(st.Comparison("=", st.Attribute((type_,)), st.Literal(variable.type)))
    parts += variable.local
    parts += [
        st.IsNull(st.Attribute(key.path), negated=True)
        for key in (*plan.partition_key, *plan.bound_keys)
        if not key.nullable and key.variable in (None, name)
    ]
    return st.all_of(tuple(parts)) if parts else None
