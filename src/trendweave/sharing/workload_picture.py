"""What the queries of a workload share, as pictures: one per crowd of queries, with its merged template."""

from __future__ import annotations

from trendweave.language.printer import print_expression
from trendweave.language.syntax_tree import type_text
from trendweave.pictures.graphs import Edge, Graph, Node, NodeKind, make_chips, make_graph
from trendweave.pictures.letters import shorten, wrap_conditions
from trendweave.pictures.picture import Picture, stack
from trendweave.pictures.shapes import COLOURS, assign_colours
from trendweave.sharing.merged import MergedQueries
from trendweave.sharing.show import Box, Shown, blocked_text, describe_overview, find_boxes, keys_text, label_of

_MOST_BOXES = 12
#: States and queries that share nothing.
_OWN = COLOURS[-1]
_SHARED = COLOURS[0]


def make_workload(shown: Shown) -> Picture:
    """Draw which queries are computed together, and the template that they have become.

    Args:
        shown: The sharing plan of a workload, with the names of its queries.
    """
    # What is computed together comes first.
    boxes = sorted(find_boxes(shown), key=lambda box: (box.automaton is None, not box.title.startswith("together")))
    pictures = [_draw_overview(shown, len(boxes))]
    pictures += [_draw_box(box, shown) for box in boxes[:_MOST_BOXES]]
    return stack(pictures, "workload")


def _draw_overview(shown: Shown, boxes: int) -> Picture:
    lines = [f"{label}: {text}" for label, text in describe_overview(shown) if label != "workload"]
    if boxes > _MOST_BOXES:
        lines.append(f"{_MOST_BOXES} of {boxes:,} units are drawn")
    queries = sum(map(len, shown.names))
    return make_graph(Graph(f"workload of {queries:,} {'query' if queries == 1 else 'queries'}", (), (), tuple(lines)))


def _draw_box(box: Box, shown: Shown) -> Picture:
    if box.automaton is not None:
        return make_graph(_graph_of_automaton(box, box.automaton))
    states = 0 if box.merged is None else len(box.merged.states)
    note = f"the template has {states:,} states, and is not drawn: these are too many" if states else ""
    return make_chips(f"{box.title}; rows meet {keys_text(shown.one_pass.families[box.family])}", box.names, note)


def _graph_of_automaton(box: Box, merged: MergedQueries) -> Graph:
    common = {state for part in merged.common for state in part} | set(merged.prefixes)
    ending = {state for state, _ in merged.ends}
    nodes = [Node("start", "start")]
    for number, state in enumerate(merged.states):
        kind: NodeKind = "final" if number in ending else "state"
        users = len(state.queries)
        used = (f"{users:,} queries",) if users > 1 else ()
        asked = wrap_conditions([print_expression(condition) for condition in state.reading.local])
        lines = (shorten(type_text(state.reading.type), 34), *asked, *used)
        colour = _SHARED if number in common else _OWN
        nodes.append(Node(f"s{number}", kind, lines, colour, label_of(merged, number)))
    colours = assign_colours(", ".join(names) for names in box.of_queries)
    for query, names in enumerate(box.of_queries):
        joined = ", ".join(names)
        nodes.append(Node(f"q{query}", "query", (shorten(joined, 30),), colours[joined], joined))
    edges = [Edge("start", f"s{number}") for number, state in enumerate(merged.states) if state.starts]
    for step in merged.steps:
        label = blocked_text(step)
        edges.append(Edge(f"s{step.source}", f"s{step.target}", label, bool(label)))
    edges += [Edge(f"s{state}", f"q{query}") for state, query in merged.ends]
    note = "blue states and steps between them are computed once for several queries"
    return Graph(box.title, tuple(nodes), tuple(edges), (note,) if common else ())
