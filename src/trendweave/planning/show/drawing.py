"""Plan -> drawings of its templates and situations (Mermaid, Graphviz) and a form for machines (JSON)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any, Literal, TypeAlias

from trendweave.language.printer import print_expression
from trendweave.language.syntax_tree import Expression, type_text
from trendweave.pictures.letters import wrap, wrap_conditions
from trendweave.planning.interval_plan import IntervalPlan, names_of
from trendweave.planning.plan import Plan, Template
from trendweave.planning.show import describe, intervals
from trendweave.planning.situated_plan import QueryPlan, SituatedPlan
from trendweave.planning.ways import plan_pieces

JSON_VERSION = 2


Shape: TypeAlias = Literal["circle", "double", "point", "box", "round", "store"]
#: What stands around a label in Mermaid, and the name of the shape in Graphviz.
_SHAPES: dict[Shape, tuple[str, str, str]] = {
    "circle": ("((", "))", "circle"),
    "double": ("(((", ")))", "doublecircle"),
    "point": ("((", "))", "point"),
    "box": ("[", "]", "box"),
    "round": ("(", ")", "box"),
    "store": ("[(", ")]", "cylinder"),
}


@dataclass(frozen=True, slots=True)
class Node:
    """A node that is drawn, with its label. Pictures have room for more lines, and tell `hint` when a pointer is held
    over it."""

    name: str
    label: str
    shape: Shape
    lines: tuple[str, ...] = ()
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Arrow:
    """A step that is drawn, with what is asked of it; dashed where a NOT guards it. It may lead to the cluster `into`
    that its target is in."""

    source: str
    target: str
    label: str = ""
    dashed: bool = False
    into: str = ""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A titled box around others."""

    name: str
    title: str
    inside: tuple[Drawn, ...]


Drawn: TypeAlias = "Node | Arrow | Cluster"


def mermaid(plan: QueryPlan) -> str:
    return "\n".join(["flowchart LR", *write_mermaid(draw_plan(plan))])


def dot(plan: QueryPlan) -> str:
    kind = "intervals" if isinstance(plan, IntervalPlan) else "trendweave"
    return "\n".join([f"digraph {kind} {{", "  rankdir=LR;", *write_dot(draw_plan(plan)), "}"])


def draw_plan(plan: QueryPlan) -> Iterator[Drawn]:
    """What a query looks for: a cluster per template, or the constraints between its situations."""
    match plan:
        case SituatedPlan():
            yield from draw_plan(plan.trend)
            yield Cluster("situations", "situations", tuple(draw_plan(plan.situations)))
        case IntervalPlan():
            for number, situation in enumerate(plan.situations):
                label = intervals.label_of(situation)
                name, *rest = label.split(": ")
                lines = (name, *(line for part in rest for line in wrap(part, 34)))
                yield Node(f"s{number}", label, "box", lines, label)
            for pair in plan.pairs:
                yield Arrow(f"s{pair.left}", f"s{pair.right}", "; ".join(names_of(pair.mask)))
        case _:
            titles = ("first pattern", "second pattern", "both patterns") if plan.is_conjunction else ("pattern",)
            for number, (title, template) in enumerate(zip(titles, plan.templates, strict=False)):
                yield _draw_template(f"t{number}", title, template, plan)
            for negated in plan.negations:
                yield _draw_template(f"n{negated.number}", f"NOT {negated.text}", negated.template, plan)


def _draw_template(prefix: str, title: str, template: Template, plan: Plan) -> Cluster:
    names = describe.state_names(template)
    free_ends = {end.state for end in template.ends if end.guard.always_open}
    asked = {one.name: [describe.local_text(one.name, each) for each in one.local] for one in plan.variables}
    nodes = [Node(f"{prefix}_start", "", "point")]
    for state in template.states:
        name, type_, conditions = names[state.number], type_text(state.type), asked.get(state.variable, [])
        lines = (name, *((type_,) if type_ != name else ()), *wrap_conditions(conditions))
        shape: Shape = "double" if state.number in free_ends else "circle"
        hint = "; ".join([type_, *conditions])
        nodes.append(Node(f"{prefix}_{state.number}", f"{type_} {name}", shape, lines, hint))
    if len(free_ends) < len(template.ends):
        nodes.append(Node(f"{prefix}_end", "", "double"))
    return Cluster(prefix, title, (*nodes, *_find_arrows(prefix, template, plan)))


def _find_arrows(prefix: str, template: Template, plan: Plan) -> Iterator[Arrow]:
    """All arrows of a template, from its start to its end."""
    for start in template.starts:
        guard = describe.gap_text(start.guard, start.closed, plan)
        yield Arrow(f"{prefix}_start", f"{prefix}_{start.state}", guard, bool(guard))
    for step in template.transitions:
        edge = plan.edge(template.states[step.source].variable, template.states[step.target].variable)
        guard = describe.gap_text(step.guard, step.closed, plan)
        label = " AND ".join(part for part in (guard, describe.edge_text(edge)) if part)
        yield Arrow(f"{prefix}_{step.source}", f"{prefix}_{step.target}", label, bool(guard))
    for end in template.ends:
        guard = describe.guard_text(end.guard, plan)
        if guard:
            yield Arrow(f"{prefix}_{end.state}", f"{prefix}_end", guard, True)


def write_mermaid(parts: Iterable[Drawn], indent: str = "  ") -> Iterator[str]:
    """Lines of a flowchart."""
    for part in parts:
        match part:
            case Cluster():
                yield f"{indent}subgraph {part.name}[{_mermaid_text(part.title)}]"
                yield from write_mermaid(part.inside, f"{indent}  ")
                yield f"{indent}end"
            case Node():
                left, right, _ = _SHAPES[part.shape]
                yield f"{indent}{part.name}{left}{_mermaid_text(part.label) if part.label else ' '}{right}"
            case Arrow():
                line = "-.->" if part.dashed else "-->"
                label = f"|{_mermaid_text(part.label)}|" if part.label else ""
                yield f"{indent}{part.source} {line}{label} {part.into or part.target}"


def _mermaid_text(text: str) -> str:
    for letter, written in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;"), ("\n", " ")):
        text = text.replace(letter, written)
    return f'"{text}"'


def write_dot(parts: Iterable[Drawn], indent: str = "  ") -> Iterator[str]:
    """Lines of a graph for Graphviz."""
    for part in parts:
        match part:
            case Cluster():
                yield f"{indent}subgraph cluster_{part.name} {{"
                yield f"{indent}  label={_dot_text(part.title)};"
                yield from write_dot(part.inside, f"{indent}  ")
                yield f"{indent}}}"
            case Node():
                yield f"{indent}{part.name} [shape={_SHAPES[part.shape][2]}, label={_dot_text(part.label)}];"
            case Arrow():
                style = ", style=dashed" if part.dashed else ""
                style += f", lhead=cluster_{part.into}" if part.into else ""
                yield f"{indent}{part.source} -> {part.target} [label={_dot_text(part.label)}{style}];"


def _dot_text(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'


def as_json(plan: Plan) -> str:
    """The plan with a version number; expressions as text, columns of a later event as NEXT; at the end, per template,
    the kernels of its pieces."""
    kernels = [[piece.kernel.name.lower() for piece in plan_pieces(plan, template)] for template in plan.templates]
    return json.dumps({"version": JSON_VERSION, **_plain(plan), "kernels": kernels}, indent=2, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Expression):
        return print_expression(value)
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        kind = {"kind": type(value).__name__} if type(value).__name__.endswith(("Window", "Input")) else {}
        return kind | {spec.name: _plain(getattr(value, spec.name)) for spec in fields(value)}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
