"""Plans as graphs: the templates of a trend query, and the constraints between situations."""

from __future__ import annotations

from collections.abc import Iterator

from trendweave.language.syntax_tree import type_text
from trendweave.pictures.graphs import Edge, Graph, Node, NodeKind, make_graph
from trendweave.pictures.letters import wrap, wrap_conditions
from trendweave.pictures.picture import Picture, stack
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.plan import Plan, Template
from trendweave.planning.relations import names_of
from trendweave.planning.show import describe
from trendweave.planning.show.drawing import find_arrows, find_templates
from trendweave.planning.show.intervals import label_of
from trendweave.planning.situated_plan import QueryPlan, SituatedPlan

#: A larger template would be a tangle; `explain("dot")` gives it to Graphviz.
MOST_STATES = 40


def make_template(plan: QueryPlan) -> Picture:
    """Draw what a query looks for: its templates, or the constraints between its situations.

    Args:
        plan: The plan of a query of any kind.
    """
    return stack([make_graph(graph) for graph in _find_graphs(plan)], "template", plan.text)


def _find_graphs(plan: QueryPlan) -> Iterator[Graph]:
    match plan:
        case IntervalPlan():
            yield _graph_of_situations(plan, "")
        case SituatedPlan():
            yield from _find_graphs(plan.trend)
            yield _graph_of_situations(plan.situations, "situations")
        case _:
            titles = list(find_templates(plan))
            for prefix, title, template in titles:
                shown = title if len(titles) > 1 else ""
                yield _graph_of_template(prefix, shown, template, plan)


def _graph_of_template(prefix: str, title: str, template: Template, plan: Plan) -> Graph:
    if len(template.states) > MOST_STATES:
        note = f'{len(template.states):,} states are too many to draw; explain("dot") is for Graphviz'
        return Graph(title or "template", (), (), (note,))
    names = describe.state_names(template)
    free_ends = {end.state for end in template.ends if end.guard.always_open}
    nodes = [Node(f"{prefix}_start", "start")]
    conditions = {
        one.name: [describe.local_text(one.name, condition) for condition in one.local] for one in plan.variables
    }
    for state in template.states:
        kind: NodeKind = "final" if state.number in free_ends else "state"
        asked = conditions.get(state.variable, [])
        written = wrap_conditions(asked)
        type_ = type_text(state.type)
        lines = (names[state.number], *((type_,) if type_ != names[state.number] else ()), *written)
        nodes.append(Node(f"{prefix}_{state.number}", kind, lines, hint="; ".join([type_, *asked])))
    if len(free_ends) < len(template.ends):
        nodes.append(Node(f"{prefix}_end", "end"))
    edges = [
        Edge(arrow.source, arrow.target, arrow.label, arrow.dashed) for arrow in find_arrows(prefix, template, plan)
    ]
    return Graph(title, tuple(nodes), tuple(edges))


def _graph_of_situations(plan: IntervalPlan, title: str) -> Graph:
    nodes = []
    for number, situation in enumerate(plan.situations):
        told = label_of(situation)
        name, _, rest = told.partition(": ")
        nodes.append(
            Node(
                f"s{number}", "box", (name, *(line for part in rest.split(": ") for line in wrap(part, 34))), hint=told
            )
        )
    edges = [Edge(f"s{pair.left}", f"s{pair.right}", "; ".join(names_of(pair.mask))) for pair in plan.pairs]
    return Graph(title, tuple(nodes), tuple(edges))
