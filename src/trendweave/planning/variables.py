"""Which variables a pattern names, and whether NOT and AND stand where they have a meaning."""

from __future__ import annotations

from dataclasses import dataclass

from trendweave.errors import Problem, near_names
from trendweave.language import syntax_tree as st
from trendweave.language.printer import print_pattern
from trendweave.language.syntax_tree import Span, problem_at


@dataclass(frozen=True, slots=True)
class Variables:
    """Variable -> type (None: any), in the order of the pattern, and those that events of a trend can be read as."""

    types: dict[str, str | None]
    positive: frozenset[str]

    def unknown(self, name: str, span: Span | None) -> Problem:
        hint = near_names(name, self.types) or f"the pattern has {', '.join(self.types)}"
        return problem_at(span, "TW201", f"unknown variable {name}", hint)


def find_variables(pattern: st.Pattern, problems: list[Problem]) -> Variables:
    types: dict[str, str | None] = {}
    positive: set[str] = set()

    def visit(node: st.Node, negated: bool) -> None:
        if isinstance(node, st.EventPattern):
            known = types.setdefault(node.name, node.type)
            if known != node.type:
                own = print_pattern(st.EventPattern(node.type))
                message = (
                    f"variable {node.name} is used for the types {st.type_text(known)} and {st.type_text(node.type)}"
                )
                hint = f"give {own} a variable of its own, for example {own} {own.strip('`')[:1].lower()}2"
                problems.append(problem_at(node.span, "TW202", message, hint))
            if not negated:
                positive.add(node.name)
        for child in node.children():
            visit(child, negated or isinstance(node, st.Negation))

    visit(pattern, False)
    return Variables(types, frozenset(positive))


_NOT_HINT = "NOT stands between, before or after other parts of a SEQ: SEQ(A, NOT N, B)"


def check_places(pattern: st.Pattern, problems: list[Problem]) -> None:
    """NOT only directly inside SEQ, beside something that reads events; AND only on top, between two patterns."""
    if isinstance(pattern, st.Negation):
        problems.append(problem_at(pattern.span, "TW204", "the whole pattern is negated", _NOT_HINT))
        _check_below(pattern.body, problems)
    elif isinstance(pattern, st.Conjunction):
        if len(pattern.parts) != 2:
            message = f"AND joins two patterns, not {len(pattern.parts)}"
            problems.append(problem_at(pattern.span, "TW210", message, "count each pair with a query of its own"))
        for part in pattern.parts:
            check_places(part, problems) if not isinstance(part, st.Conjunction) else _check_below(part, problems)
    else:
        _check_below(pattern, problems)


def _check_below(pattern: st.Pattern, problems: list[Problem]) -> None:
    if isinstance(pattern, st.Conjunction):
        message = "AND between patterns may only stand at the top of the pattern"
        hint = "use SEQ for an order, or one OR of the possible orders"
        problems.append(problem_at(pattern.span, "TW210", message, hint))
    if isinstance(pattern, st.Sequence):
        _check_sequence(pattern, problems)
    for child in pattern.children():
        assert isinstance(child, st.Pattern)
        if isinstance(child, st.Negation):
            if not isinstance(pattern, st.Sequence):
                under = {
                    st.Repeat: "under a quantifier",
                    st.Negation: "directly under another NOT",
                    st.Alternatives: "as an alternative of OR",
                }.get(type(pattern), "outside of SEQ")
                problems.append(problem_at(child.span, "TW204", f"NOT {under} has no meaning", _NOT_HINT))
            _check_edges_of_negated(child.body, problems)
        _check_below(child, problems)


def _check_sequence(sequence: st.Sequence, problems: list[Problem]) -> None:
    if all(isinstance(part, st.Negation) for part in sequence.parts):
        message = "no part of this SEQ matches an event"
        problems.append(problem_at(sequence.span, "TW204", message, "add a part without NOT"))


def _check_edges_of_negated(body: st.Pattern, problems: list[Problem]) -> None:
    """A negated pattern neither begins nor ends with NOT."""
    found: dict[int, st.Pattern] = {}
    for side in (0, -1):
        edge = [body]
        while edge:
            node = edge.pop()
            match node:
                case st.Sequence(parts=parts):
                    edge.append(parts[side])
                case st.Alternatives(options=options):
                    edge.extend(options)
                case st.Repeat(body=inner):
                    edge.append(inner)
                case st.Negation() if node is not body:
                    found[id(node)] = node
    for node in found.values():
        message = "a negated pattern neither begins nor ends with NOT"
        hint = "move this NOT out of the negated pattern, or put a part before and after it"
        problems.append(problem_at(node.span, "TW205", message, hint))
