"""A sharing plan as people and other programs read it: text, drawings (Mermaid, Graphviz) and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from trendweave.language.printer import print_expression
from trendweave.language.syntax_tree import type_text
from trendweave.planning.show import ExplainFormat
from trendweave.planning.show.describe import path_text
from trendweave.planning.show.drawing import Arrow, Cluster, Drawn, Node, write_dot, write_mermaid
from trendweave.sharing.constants import Alike, Compared
from trendweave.sharing.graphlets import Graphlets
from trendweave.sharing.lanes import Lanes
from trendweave.sharing.merged import MergedQueries, MergedStep, Reading, SharedPart
from trendweave.sharing.one_pass import KeyFamily, OnePass, plan_pass
from trendweave.sharing.units import Alone, SharingPlan, Unit

JSON_VERSION = 1
_LABEL = 13
#: Names that are written out of a long list of queries.
_MOST_NAMES = 20
#: Parts that are written out of a long list.
_MOST_PARTS = 12
#: A larger automaton is told by its queries alone.
MOST_STATES = 60
_TITLES = {
    "alone": "alone",
    "alike": "alike but for constants",
    "graphlets": "one merged template",
    "lanes": "one lane per query",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown: the plan, the names of each member, and what all share before patterns are looked at."""

    plan: SharingPlan
    names: tuple[tuple[str, ...], ...]
    one_pass: OnePass

    def named(self, members: Sequence[int]) -> list[str]:
        """The names of queries, those of one text together."""
        return [name for member in members for name in self.names[member]]


def see_sharing(plan: SharingPlan, names: Sequence[tuple[str, ...]]) -> Shown:
    """Look at a plan, with the names of the queries of each member."""
    return Shown(plan, tuple(names), plan_pass(plan.plans))


def show_sharing(plan: SharingPlan, names: Sequence[tuple[str, ...]], format: ExplainFormat) -> str:
    """Show what is shared with what, and why not.

    Args:
        plan: The sharing plan.
        names: Per member, the names of the queries with its text.
        format: "text", "mermaid", "dot" or "json".
    """
    shown = see_sharing(plan, names)
    ways = {"text": _text, "mermaid": _mermaid, "dot": _dot, "json": _json}
    return ways[format](shown)


# Text


def _text(shown: Shown) -> str:
    lines = [f"{label:<{_LABEL}}{text}" for label, text in describe_overview(shown)]
    together = [unit for unit in shown.plan.units if not isinstance(unit, Alone)]
    for number, unit in enumerate(together, 1):
        rows = [("queries", _listed(shown.named(unit.members))), *describe_unit(unit)]
        width = max(_LABEL, *(len(label) + 1 for label, _ in rows))
        lines += ["", f"together {number}: {title_of(unit)}", *(f"  {label:<{width}}{text}" for label, text in rows)]
    for reason, names in _reasons(shown).items():
        lines += ["", f"alone: {reason}", f"  {'queries':<{_LABEL}}{_listed(names)}"]
    return "\n".join(lines)


def _reasons(shown: Shown) -> dict[str, list[str]]:
    """Queries that share rows and their expressions alone, by the reason."""
    found: dict[str, list[str]] = {}
    for unit in shown.plan.units:
        if isinstance(unit, Alone):
            found.setdefault(unit.reason, []).extend(shown.named(unit.members))
    return found


def describe_overview(shown: Shown) -> Iterator[tuple[str, str]]:
    """What is shared before patterns are looked at: labels and texts."""
    queries = sum(map(len, shown.names))
    same = queries - len(shown.names)
    yield (
        "workload",
        _counted(queries, "query", "queries")
        + (f"; {same:,} {'has' if same == 1 else 'have'} the text of another and cost nothing more" if same else ""),
    )
    units = shown.plan.units
    together = sum(len(shown.named(unit.members)) for unit in units if len(unit.members) > 1)
    crowds = sum(not isinstance(unit, Alone) for unit in units)
    yield "computed", f"{together:,} of the queries together with others, in {_counted(crowds, 'unit', 'units')}"
    asked, different = shown.one_pass.asked, shown.one_pass.different
    yield "expressions", f"{asked:,} per row asked for, {different:,} evaluated, {asked - different:,} saved"
    for family in shown.one_pass.families:
        yield "rows meet", f"{keys_text(family)}: {_listed(shown.named(family.members))}"


def keys_text(family: KeyFamily) -> str:
    """By what rows of a family meet."""
    return f"by {', '.join(map(path_text, family.keys))}" if family.keys else "all together"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more:,} more" if more > 0 else "")


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


# Drawings


@dataclass(frozen=True, slots=True)
class Box:
    """Queries that are drawn together, and the family whose rows they read; with the automaton that they have become,
    and the names of each of its queries. An automaton of too many states is not drawn."""

    number: int
    title: str
    family: int
    names: tuple[str, ...]
    merged: MergedQueries | None = None
    of_queries: tuple[tuple[str, ...], ...] = ()

    @property
    def automaton(self) -> MergedQueries | None:
        """What is drawn."""
        return None if self.merged is None or len(self.merged.states) > MOST_STATES else self.merged


def find_boxes(shown: Shown) -> Iterator[Box]:
    """A box per unit; queries that are alone share one per family."""
    family_of = {member: i for i, family in enumerate(shown.one_pass.families) for member in family.members}
    found: dict[tuple[int, str], list[str]] = {}
    graphlets: dict[str, Graphlets] = {}
    together = 0
    for unit in shown.plan.units:
        together += not isinstance(unit, Alone)
        title = "each alone" if isinstance(unit, Alone) else f"together {together}: {title_of(unit)}"
        found.setdefault((family_of[unit.members[0]], title), []).extend(shown.named(unit.members))
        if isinstance(unit, Graphlets):
            graphlets[title] = unit
    for number, ((family, title), names) in enumerate(found.items()):
        box = Box(number, title, family, tuple(names))
        if title in graphlets:
            unit = graphlets[title]
            box = replace(box, merged=unit.merged, of_queries=tuple(shown.names[member] for member in unit.members))
        yield box


def _draw(shown: Shown) -> Iterator[Drawn]:
    yield Node("events", "events", "store")
    for number, family in enumerate(shown.one_pass.families):
        yield Node(f"f{number}", f"rows meet {keys_text(family)}", "box")
        yield Arrow("events", f"f{number}")
    for box in find_boxes(shown):
        name = f"u{box.number}"
        if box.automaton is not None:
            inside = tuple(_draw_automaton(box.automaton, box.of_queries, name))
        else:
            inside = tuple(Node(f"{name}_{i}", text, "round") for i, text in enumerate(_few(box.names)))
        yield Cluster(name, box.title, inside)
        yield Arrow(f"f{box.family}", f"{name}_0", into=name)


def _draw_automaton(merged: MergedQueries, names: Sequence[Sequence[str]], prefix: str) -> Iterator[Drawn]:
    """States, the parts that queries have in common, and where they end."""
    nodes = [Node(f"{prefix}_s{state}", label_of(merged, state), "circle") for state in range(len(merged.states))]
    for number, part in enumerate(merged.common):
        inside = tuple(nodes[state] for state in part)
        yield Cluster(f"{prefix}_p{number}", f"part {describe_part(merged, part)}", inside)
    in_parts = {state for part in merged.common for state in part}
    yield from (node for state, node in enumerate(nodes) if state not in in_parts)
    yield from (Node(f"{prefix}_{query}", ", ".join(own), "round") for query, own in enumerate(names))
    for step in merged.steps:
        label = blocked_text(step)
        yield Arrow(f"{prefix}_s{step.source}", f"{prefix}_s{step.target}", label, dashed=bool(label))
    yield from (Arrow(f"{prefix}_s{state}", f"{prefix}_{query}") for state, query in merged.ends)


def label_of(merged: MergedQueries, state: int) -> str:
    """What a state reads, and how many queries use it."""
    found = merged.states[state]
    count = len(found.queries)
    begins = "> " if found.starts else ""
    return f"{begins}{_reading_text(found.reading)}" + (f" ({count:,} queries)" if count > 1 else "")


def _reading_text(reading: Reading) -> str:
    """What an event must be to be read."""
    return " AND ".join([type_text(reading.type), *(print_expression(condition) for condition in reading.local)])


def blocked_text(step: MergedStep) -> str:
    """What must not lie between the two events of a step; nothing where anything may."""
    return "" if step.blocker is None else f"NOT {_reading_text(step.blocker)}"


def _mermaid(shown: Shown) -> str:
    return "\n".join(["flowchart LR", *write_mermaid(_draw(shown))])


def _dot(shown: Shown) -> str:
    return "\n".join(["digraph workload {", "  rankdir=LR;", "  compound=true;", *write_dot(_draw(shown)), "}"])


def _few(names: Sequence[str]) -> list[str]:
    more = len(names) - _MOST_NAMES
    return [*names[:_MOST_NAMES], *([f"and {more:,} more"] if more > 0 else [])]


# Words


def title_of(unit: Unit) -> str:
    """How a unit computes its queries, in a few words."""
    count = len(unit.members)
    return _TITLES.get(unit.kind, unit.kind) + (f", {count:,} different queries" if count > 1 else "")


def describe_unit(unit: Unit) -> list[tuple[str, str]]:
    """What is shared in a unit, or why nothing is: labels and texts."""
    match unit:
        case Alone():
            return [("because", unit.reason)]
        case Lanes(lanes=lanes, shared=shared):
            steps = [("search", text) for text in shared or ("events that can follow each other",)]
            return [*steps, ("lanes", f"{len(lanes):,}: a number per lane and window is added in one go")]
        case Alike(compared=compared):
            return [
                ("differ in", ", ".join(_compared_text(one, unit) for one in compared)),
                (
                    "looked up",
                    "each event among the constants of all queries; it costs what the queries do that want it",
                ),
            ]
        case Graphlets(merged=merged):
            return list(describe_merged(merged))


def _compared_text(compared: Compared, unit: Alike) -> str:
    """The comparison with a gap, and the variable that it is about."""
    variable = unit.plan.variables[compared.variable].name
    test = "IN (...)" if compared.test == "in" else f"{compared.test} ..."
    return f"{print_expression(compared.value)} {test} of {variable}"


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
    state = part[0]
    looped = any(step.source == step.target == state for step in merged.steps)
    return type_text(merged.states[state].reading.type) + ("+" if looped else "")


# JSON


def _json(shown: Shown) -> str:
    content: dict[str, Any] = {
        "version": JSON_VERSION,
        "queries": [
            {"name": name, "text": plan.text}
            for plan, names in zip(shown.plan.plans, shown.names, strict=True)
            for name in names
        ],
        "expressions": {"asked": shown.one_pass.asked, "evaluated": shown.one_pass.different},
        "families": [
            {"keys": [list(path) for path in family.keys], "queries": shown.named(family.members)}
            for family in shown.one_pass.families
        ],
        "units": [
            {
                "kind": unit.kind,
                "queries": shown.named(unit.members),
                "details": _gather(describe_unit(unit)),
            }
            for unit in shown.plan.units
        ],
    }
    return json.dumps(content, indent=2, ensure_ascii=False)


def _gather(rows: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """All texts of each label."""
    found: dict[str, list[str]] = {}
    for label, text in rows:
        found.setdefault(label.replace(" ", "_"), []).append(text)
    return found
