"""A sharing plan as people and other programs read it: text, drawings (Mermaid, Graphviz) and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from trendweave.planning.show import ExplainFormat
from trendweave.planning.show.describe import path_text
from trendweave.planning.show.drawing import dot_text, mermaid_text
from trendweave.sharing.automaton_drawing import MOST_STATES, Automaton
from trendweave.sharing.graphlets import Graphlets
from trendweave.sharing.one_pass import KeyFamily, OnePass, plan_pass
from trendweave.sharing.units import Alone, SharingPlan
from trendweave.sharing.words import describe_unit, title_of

JSON_VERSION = 1
_LABEL = 13
#: Names that are written out of a long list of queries.
_MOST_NAMES = 20


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
    or the number of its states where these are too many to be drawn."""

    number: int
    title: str
    family: int
    names: tuple[str, ...]
    automaton: Automaton | None = None
    states: int = 0


def find_boxes(shown: Shown) -> Iterator[Box]:
    """A box per unit; queries that are alone share one per family."""
    family_of = {member: i for i, family in enumerate(shown.one_pass.families) for member in family.members}
    found: dict[tuple[int, str], list[str]] = {}
    merged: dict[str, Graphlets] = {}
    together = 0
    for unit in shown.plan.units:
        together += not isinstance(unit, Alone)
        title = "each alone" if isinstance(unit, Alone) else f"together {together}: {title_of(unit)}"
        found.setdefault((family_of[unit.members[0]], title), []).extend(shown.named(unit.members))
        if isinstance(unit, Graphlets):
            merged[title] = unit
    for number, ((family, title), names) in enumerate(found.items()):
        automaton = None
        states = len(merged[title].merged.states) if title in merged else 0
        if 0 < states <= MOST_STATES:
            of_queries = [shown.names[member] for member in merged[title].members]
            automaton = Automaton(merged[title].merged, of_queries, f"u{number}")
        yield Box(number, title, family, tuple(names), automaton, states)


def _mermaid(shown: Shown) -> str:
    lines = ["flowchart LR", '  events[("events")]']
    for number, family in enumerate(shown.one_pass.families):
        lines += [f"  f{number}[{mermaid_text(f'rows meet {keys_text(family)}')}]", f"  events --> f{number}"]
    for box in find_boxes(shown):
        lines.append(f"  subgraph u{box.number}[{mermaid_text(box.title)}]")
        if box.automaton is not None:
            lines += box.automaton.mermaid()
        else:
            lines += [f"    u{box.number}_{i}({mermaid_text(name)})" for i, name in enumerate(_few(box.names))]
        lines += ["  end", f"  f{box.family} --> u{box.number}"]
    return "\n".join(lines)


def _dot(shown: Shown) -> str:
    lines = ["digraph workload {", "  rankdir=LR;", "  compound=true;", "  node [shape=box];"]
    lines.append("  events [shape=cylinder];")
    for number, family in enumerate(shown.one_pass.families):
        lines.append(f"  f{number} [label={dot_text(f'rows meet {keys_text(family)}')}];")
        lines.append(f"  events -> f{number};")
    for box in find_boxes(shown):
        lines += [f"  subgraph cluster_u{box.number} {{", f"    label={dot_text(box.title)};"]
        if box.automaton is not None:
            lines += box.automaton.dot()
        else:
            lines += [f"    u{box.number}_{i} [label={dot_text(name)}];" for i, name in enumerate(_few(box.names))]
        lines += ["  }", f"  f{box.family} -> u{box.number}_0 [lhead=cluster_u{box.number}];"]
    return "\n".join([*lines, "}"])


def _few(names: Sequence[str]) -> list[str]:
    more = len(names) - _MOST_NAMES
    return [*names[:_MOST_NAMES], *([f"and {more:,} more"] if more > 0 else [])]


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
