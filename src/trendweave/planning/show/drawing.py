"""Plan -> drawings of its templates (Mermaid, Graphviz) and a form for machines (JSON)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any, Literal, TypeAlias

from trendweave.language.printer import print_expression
from trendweave.language.syntax_tree import Expression, type_text
from trendweave.planning.plan import Plan, Template
from trendweave.planning.show import describe
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
    """A node that is drawn, with its label."""

    name: str
    label: str
    shape: Shape


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


def find_templates(plan: Plan) -> Iterator[tuple[str, str, Template]]:
    """All templates of a plan: a prefix for names of nodes, a title, and the template."""
    titles = ("pattern",) if not plan.is_conjunction else ("first pattern", "second pattern", "both patterns")
    for index, template in enumerate(plan.templates):
        yield f"t{index}", titles[index], template
    for negated in plan.negations:
        yield f"n{negated.number}", f"NOT {negated.text}", negated.template


def find_arrows(prefix: str, template: Template, plan: Plan) -> Iterator[Arrow]:
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


def mermaid(plan: Plan) -> str:
    return "\n".join(["flowchart LR", *write_mermaid(_draw(plan))])


def dot(plan: Plan) -> str:
    return "\n".join(["digraph trendweave {", "  rankdir=LR;", *write_dot(_draw(plan)), "}"])


def _draw(plan: Plan) -> Iterator[Cluster]:
    """A cluster per template."""
    for prefix, title, template in find_templates(plan):
        names = describe.state_names(template)
        free_ends = {end.state for end in template.ends if end.guard.always_open}
        nodes = [Node(f"{prefix}_start", "", "point")]
        for state in template.states:
            shape: Shape = "double" if state.number in free_ends else "circle"
            nodes.append(Node(f"{prefix}_{state.number}", f"{type_text(state.type)} {names[state.number]}", shape))
        if len(free_ends) < len(template.ends):
            nodes.append(Node(f"{prefix}_end", "", "double"))
        yield Cluster(prefix, title, (*nodes, *find_arrows(prefix, template, plan)))


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
    return '"' + text.replace("#", "#35;").replace('"', "#quot;").replace("\n", " ") + '"'


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
