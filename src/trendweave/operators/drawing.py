"""Operators as pictures, and what notebooks show of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trendweave.pictures.cards import Card
from trendweave.pictures.graphs import Edge, Graph, Node, make_graph
from trendweave.pictures.letters import wrap
from trendweave.pictures.picture import Picture
from trendweave.planning.operator_plans import AggregatePlan, FilterPlan, JoinPlan
from trendweave.queries import Query

if TYPE_CHECKING:
    from trendweave.operators.operator import Operator, Piped

#: What begins a new line in a box.
_CLAUSES = ("OVER", "LEFT", "RIGHT", "BY", "PATTERN", "WHERE", "WITHIN", "GROUP-BY")


def make_operator_card(piped: Piped) -> Card:
    """The operators in colours, the way that events take through them, and what each does, to unfold.

    Args:
        piped: An operator, or a chain of them.
    """
    number = len(piped.operators)
    heading = "Operator" if number == 1 else f"Chain · {number} operators"
    return Card(heading, piped.text, (), (make_chain(piped),), (("what each does", piped.explain()),))


def make_chain(piped: Piped) -> Picture:
    """Draw the way of events through operators, from left to right.

    Args:
        piped: An operator, or a chain of them.
    """
    operators = piped.operators
    sides = ("left events", "right events") if isinstance(operators[0].task, JoinPlan) else ("events",)
    nodes = [Node(f"e{side}", "query", (name,)) for side, name in enumerate(sides)]
    edges = [Edge(node.name, "o0") for node in nodes]
    for number, operator in enumerate(operators):
        nodes.append(
            Node(f"o{number}", "box", (_name(operator), *wrap(_about(operator), 30, _CLAUSES)), hint=operator.text)
        )
        edges.append(Edge(f"o{number}", f"o{number + 1}"))
    nodes.append(Node(f"o{len(operators)}", "query", ("rows",)))
    return make_graph(Graph("", tuple(nodes), tuple(edges)))


def _name(operator: Operator) -> str:
    match operator.task:
        case FilterPlan():
            return "filter"
        case AggregatePlan():
            return "window aggregate"
        case JoinPlan():
            return "window join"
        case Query():
            return "query"


def _about(operator: Operator) -> str:
    """What an operator is told to do, in one line, without the word that it begins with."""
    text = " ".join(operator.text.split())
    return text if isinstance(operator.task, Query) else text.partition(" ")[2]
