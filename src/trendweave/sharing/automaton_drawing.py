"""The automaton of merged queries, to be drawn: states, the parts that queries have in common, and where they end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trendweave.language.printer import print_expression
from trendweave.language.syntax_tree import type_text
from trendweave.planning.show.drawing import dot_text, mermaid_text
from trendweave.sharing.merged import MergedQueries, MergedStep, Reading
from trendweave.sharing.merged_words import describe_part

#: A larger automaton is told by its queries alone.
MOST_STATES = 60


@dataclass(frozen=True, slots=True)
class Automaton:
    """What is drawn of a unit.

    Attributes:
        merged: The queries in one automaton.
        names: Per query of the unit, its names.
        prefix: What names of nodes begin with.
    """

    merged: MergedQueries
    names: Sequence[Sequence[str]]
    prefix: str

    def mermaid(self) -> list[str]:
        """Lines of a flowchart, to stand inside the box of the unit."""
        lines = []
        for number, (title, states) in enumerate(self.find_parts()):
            nodes = [f"{self.prefix}_s{state}(({mermaid_text(self.label_of(state))}))" for state in states]
            if title:
                lines.append(f"    subgraph {self.prefix}_p{number}[{mermaid_text(title)}]")
                lines += [f"      {node}" for node in nodes]
                lines.append("    end")
            else:
                lines += [f"    {node}" for node in nodes]
        for query, names in enumerate(self.names):
            lines.append(f"    {self.prefix}_{query}({mermaid_text(', '.join(names))})")
        for step in self.merged.steps:
            label = f"|{mermaid_text(blocked_text(step))}|" if step.blocker is not None else ""
            arrow = "-.->" if step.blocker is not None else "-->"
            lines.append(f"    {self.prefix}_s{step.source} {arrow}{label} {self.prefix}_s{step.target}")
        lines += [f"    {self.prefix}_s{state} --> {self.prefix}_{query}" for state, query in self.find_ends()]
        return lines

    def dot(self) -> list[str]:
        """The same for Graphviz."""
        lines = []
        for number, (title, states) in enumerate(self.find_parts()):
            nodes = [
                f"{self.prefix}_s{state} [shape=circle, label={dot_text(self.label_of(state))}];" for state in states
            ]
            if title:
                lines.append(f"    subgraph cluster_{self.prefix}_p{number} {{ label={dot_text(title)};")
                lines += [f"      {node}" for node in nodes]
                lines.append("    }")
            else:
                lines += [f"    {node}" for node in nodes]
        for query, names in enumerate(self.names):
            lines.append(f"    {self.prefix}_{query} [label={dot_text(', '.join(names))}];")
        for step in self.merged.steps:
            style = f" [label={dot_text(blocked_text(step))}, style=dashed]" if step.blocker is not None else ""
            lines.append(f"    {self.prefix}_s{step.source} -> {self.prefix}_s{step.target}{style};")
        lines += [f"    {self.prefix}_s{state} -> {self.prefix}_{query};" for state, query in self.find_ends()]
        return lines

    def find_parts(self) -> list[tuple[str, list[int]]]:
        """Titles of parts that several queries have, with their states; those of no such part without a title."""
        parts = [(f"part {describe_part(self.merged, part)}", list(part.states)) for part in self.merged.common]
        inside = {state for _, states in parts for state in states}
        return [*parts, ("", [state for state in range(len(self.merged.states)) if state not in inside])]

    def label_of(self, state: int) -> str:
        """What a state reads, and how many queries use it."""
        found = self.merged.states[state]
        count = len(found.queries)
        begins = "> " if found.starts else ""
        return f"{begins}{reading_text(found.reading)}" + (f" ({count:,} queries)" if count > 1 else "")

    def find_ends(self) -> list[tuple[int, int]]:
        """Where trends of queries end: states and queries."""
        return [(state, query) for query, states in enumerate(self.merged.finals) for state in states]


def reading_text(reading: Reading) -> str:
    """What an event must be to be read."""
    return " AND ".join([type_text(reading.type), *(print_expression(condition) for condition in reading.local)])


def blocked_text(step: MergedStep) -> str:
    """What must not lie between the two events of a step."""
    assert step.blocker is not None, "only then there is something to say"
    return f"NOT {reading_text(step.blocker)}"
