"""Plan -> drawings of its templates (Mermaid, Graphviz) and a form for machines (JSON)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any

from trendweave.language.printer import print_expression
from trendweave.language.syntax_tree import Expression, type_text
from trendweave.planning.plan import Plan, Template
from trendweave.planning.show import describe
from trendweave.planning.ways import plan_pieces

JSON_VERSION = 2


@dataclass(frozen=True, slots=True)
class Arrow:
    """A step that is drawn, with what is asked of it; dashed where a NOT guards it."""

    source: str
    target: str
    label: str
    dashed: bool = False


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
    lines = ["flowchart LR"]
    for prefix, title, template in find_templates(plan):
        lines.append(f"  subgraph {prefix}[{mermaid_text(title)}]")
        lines.append(f"    {prefix}_start(( ))")
        names = describe.state_names(template)
        free_ends = {end.state for end in template.ends if end.guard.always_open}
        for state in template.states:
            label = mermaid_text(f"{type_text(state.type)} {names[state.number]}")
            shape = f"((({label})))" if state.number in free_ends else f"(({label}))"
            lines.append(f"    {prefix}_{state.number}{shape}")
        if len(free_ends) < len(template.ends):
            lines.append(f"    {prefix}_end((( )))")
        for arrow in find_arrows(prefix, template, plan):
            line = "-.->" if arrow.dashed else "-->"
            label = f"|{mermaid_text(arrow.label)}|" if arrow.label else ""
            lines.append(f"    {arrow.source} {line}{label} {arrow.target}")
        lines.append("  end")
    return "\n".join(lines)


def mermaid_text(text: str) -> str:
    return '"' + text.replace("#", "#35;").replace('"', "#quot;").replace("\n", " ") + '"'


def dot(plan: Plan) -> str:
    lines = ["digraph trendweave {", "  rankdir=LR;", "  node [shape=circle];"]
    for prefix, title, template in find_templates(plan):
        lines.append(f"  subgraph cluster_{prefix} {{")
        lines.append(f"    label={dot_text(title)};")
        lines.append(f'    {prefix}_start [shape=point, label=""];')
        names = describe.state_names(template)
        free_ends = {end.state for end in template.ends if end.guard.always_open}
        for state in template.states:
            shape = ", shape=doublecircle" if state.number in free_ends else ""
            label = dot_text(f"{type_text(state.type)} {names[state.number]}")
            lines.append(f"    {prefix}_{state.number} [label={label}{shape}];")
        if len(free_ends) < len(template.ends):
            lines.append(f'    {prefix}_end [shape=doublecircle, label=""];')
        for arrow in find_arrows(prefix, template, plan):
            style = ", style=dashed" if arrow.dashed else ""
            lines.append(f"    {arrow.source} -> {arrow.target} [label={dot_text(arrow.label)}{style}];")
        lines.append("  }")
    return "\n".join([*lines, "}"])


def dot_text(text: str) -> str:
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
