"""Tree of an interval query -> plan, with every check that needs no data."""

from __future__ import annotations

from collections.abc import Iterator

from trendweave.errors import Problem, near_names
from trendweave.language import syntax_tree as st
from trendweave.language.interval_printer import print_intervals
from trendweave.language.interval_tree import PREV, IntervalColumns, IntervalTree, Situation
from trendweave.language.printer import print_expression
from trendweave.language.syntax_tree import Span, problem_at
from trendweave.planning.interval_plan import (
    ANY,
    MAX_SITUATIONS,
    Contradiction,
    IntervalPlan,
    OutputColumn,
    PairPlan,
    Returns,
    SituationPlan,
    inverse,
    make_path_consistent,
    mask_of,
    names_of,
)
from trendweave.planning.plan import Path
from trendweave.planning.predicates import rewrite_columns


def make_interval_plan(tree: IntervalTree, problems: list[Problem]) -> IntervalPlan | None:
    """The plan, or None where problems keep it from having a meaning; those are added to the list."""
    return _Planner(tree, problems).plan()


class _Planner:
    def __init__(self, tree: IntervalTree, problems: list[Problem]) -> None:
        self.tree, self.problems = tree, problems
        self.intervals = tree.source if isinstance(tree.source, IntervalColumns) else None
        self.situations = self._situations()
        self.number = {situation.name: i for i, situation in enumerate(self.situations)}

    def _problem(self, span: Span | None, code: str, message: str, hint: str) -> None:
        self.problems.append(problem_at(span, code, message, hint))

    def plan(self) -> IntervalPlan | None:
        self._check_clauses()
        situations = tuple(self._situation(situation) for situation in self.situations)
        masks = self._masks()
        outputs = self._outputs()
        if self.problems or masks is None:
            return None
        allowed = self._allowed(masks)
        if allowed is None:
            return None
        pairs = tuple(
            PairPlan(i, j, masks[i][j])
            for i in range(len(situations))
            for j in range(i + 1, len(situations))
            if masks[i][j] != ANY
        )
        related = {(self.number[constraint.left], self.number[constraint.right]) for constraint in self.tree.pattern}
        return IntervalPlan(
            text=print_intervals(self.tree),
            source=self.tree.source if isinstance(self.tree.source, str) else None,
            intervals=self.intervals,
            partition_by=tuple(dict.fromkeys(attribute.names for attribute in self.tree.partition_by)),
            situations=situations,
            pairs=pairs,
            allowed=tuple(map(tuple, allowed)),
            groups=_groups(len(situations), related),
            within=None if self.tree.within is None else self.tree.within.nanoseconds,
            every=None if self.tree.every is None else self.tree.every.nanoseconds,
            at_end=self.tree.detect_at_end,
            returns=self._returns(),
            outputs=outputs,
            needed_columns=tuple(dict.fromkeys(self._needed(situations, outputs))),
        )

    # Situations

    def _situations(self) -> tuple[Situation, ...]:
        """Those that are defined; given intervals are also known by the names that the pattern has."""
        found: dict[str, Situation] = {}
        for situation in self.tree.situations:
            if situation.name in found:
                message = f"{situation.name} is defined twice"
                self._problem(situation.span, "TW252", message, "give one of them another name")
            found.setdefault(situation.name, situation)
        if self.intervals is not None:
            for constraint in self.tree.pattern:
                for name in (constraint.left, constraint.right):
                    found.setdefault(name, Situation(name, span=constraint.span))
        return tuple(found.values())

    def _situation(self, situation: Situation) -> SituationPlan:
        condition = situation.condition
        if condition is None and self.intervals is None:
            hint = f"write {situation.name} AS a condition on the events"
            self._problem(situation.span, "TW253", f"{situation.name} has no condition", hint)
        if condition is not None:
            self._check_condition(condition)
        looks_back = condition is not None and any(_is_prev(node) for node in condition.walk())
        if looks_back and self.intervals is not None:
            hint = "compare columns of the interval itself"
            self._problem(situation.span, "TW254", "PREV looks back at events; given intervals have none", hint)
        return SituationPlan(
            situation.name,
            None if condition is None else rewrite_columns(condition, _as_it_is),
            None if situation.low is None else situation.low.nanoseconds,
            None if situation.high is None else situation.high.nanoseconds,
            looks_back,
        )

    def _check_condition(self, condition: st.Expression) -> None:
        for node in condition.walk():
            match node:
                case st.Equivalence():
                    hint = "partition the events with PARTITION BY"
                    self._problem(node.span, "TW253", "an equivalence cannot be the condition of a situation", hint)
                case st.NextAttribute():
                    message = "NEXT is for trends; a situation can only look back"
                    self._problem(node.span, "TW253", message, "use PREV(x), the value of x in the step before")
                case st.Call(function=function) if function == PREV:
                    if any(_is_prev(inner) for part in node.arguments for inner in part.walk()):
                        self._problem(node.span, "TW254", "PREV cannot be nested", "look back one step only")
                case st.Literal(value=int() as value) if not -(2**63) <= value < 2**63:
                    hint = "write a float such as 1e20 for a large number"
                    self._problem(node.span, "TW113", "the number does not fit 64 bits", hint)

    # Clauses

    def _check_clauses(self) -> None:
        tree = self.tree
        kind = None if tree.returns is None else tree.returns.kind
        if not self.situations:
            hint = "say what holds, for example DEFINE A AS speed > 70"
            if self.intervals is not None:
                hint = "name intervals in PATTERN or DEFINE, for example PATTERN A before B"
            self._problem(tree.span, "TW104", "the query defines no situation", hint)
        if len(self.situations) > MAX_SITUATIONS:
            message = f"the query has {len(self.situations)} situations; at most {MAX_SITUATIONS} are possible"
            self._problem(tree.span, "TW255", message, "split the query")
        if not tree.pattern and kind != "situations" and len(self.situations) > 1:
            hint = "relate the situations, for example PATTERN A before B, or write RETURN SITUATIONS"
            self._problem(tree.span, "TW104", "the query has no PATTERN", hint)
        if kind == "situations":
            self._check_situations_alone()
        counts = self._counts()
        if tree.every is not None and not counts and kind != "situations":
            hint = "write RETURN COUNT(*) EVERY 1 minute, or leave EVERY out"
            self._problem(tree.every.span, "TW256", "EVERY counts matches, but RETURN has no COUNT(*)", hint)
        if counts and (tree.every is None or tree.within is None):
            hint = "write WITHIN and EVERY, for example WITHIN 5 minutes EVERY 1 minute"
            self._problem(counts[0].span, "TW256", "COUNT(*) counts the matches of windows", hint)
        if tree.every is not None and tree.within is not None and _is_longer(tree.every, tree.within):
            message = "EVERY is larger than WITHIN, so matches between windows would be lost"
            self._problem(tree.every.span, "TW220", message, "make EVERY at most as long as WITHIN")

    def _check_situations_alone(self) -> None:
        tree = self.tree
        useless = (
            ("WITHIN", tree.within is not None, tree.within),
            ("EVERY", tree.every is not None, tree.every),
            ("PATTERN", bool(tree.pattern), tree.pattern[0] if tree.pattern else None),
        )
        for clause, given, node in useless:
            if given:
                message = f"RETURN SITUATIONS returns situations; {clause} applies to matches"
                span = tree.span if node is None else node.span
                self._problem(span, "TW256", message, f"leave {clause} out, or return something of the matches")

    def _counts(self) -> list[st.Aggregate]:
        outputs = self.tree.returns.outputs if self.tree.returns is not None else ()
        values = [output.value for output in outputs]
        return [
            value
            for value in values
            if isinstance(value, st.Aggregate) and value.function == "COUNT" and value.argument is None
        ]

    def _returns(self) -> Returns:
        if self.tree.returns is not None and self.tree.returns.kind == "situations":
            return "situations"
        return "counts" if self._counts() else "matches"

    # Constraints

    def _masks(self) -> list[list[int]] | None:
        """The relations that the query allows for each pair; a pair that is named twice must agree with itself."""
        count = len(self.situations)
        masks = [[ANY] * count for _ in range(count)]
        for constraint in self.tree.pattern:
            unknown = [name for name in (constraint.left, constraint.right) if name not in self.number]
            for name in dict.fromkeys(unknown):
                hint = near_names(name, self.number) or f"the query defines {', '.join(self.number) or 'none'}"
                self._problem(constraint.span, "TW251", f"unknown situation {name}", hint)
            if unknown:
                continue
            i, j = self.number[constraint.left], self.number[constraint.right]
            if i == j:
                hint = "relate it to another situation"
                self._problem(constraint.span, "TW257", f"{constraint.left} is related to itself", hint)
                continue
            mask = mask_of(constraint.relations)
            kept = masks[i][j] & mask
            if not kept:
                both = f"{_list_relations(masks[i][j])} and {_list_relations(mask)}"
                message = f"{constraint.left} cannot be both {both} to {constraint.right}"
                hint = "alternatives are joined by semicolons in one constraint; AND asks for both"
                self._problem(constraint.span, "TW258", message, hint)
                continue
            masks[i][j], masks[j][i] = kept, inverse(kept)
        return masks

    def _allowed(self, masks: list[list[int]]) -> list[list[int]] | None:
        try:
            return make_path_consistent(masks)
        except Contradiction as found:
            left, through, right = (self.situations[number].name for number in (found.left, found.through, found.right))
            message = (
                f"the constraints can never hold together: through {through}, {left} can only be "
                f"{_list_relations(found.allowed)} to {right}, but must be {_list_relations(found.asked)}"
            )
            span = self._span_of(found.left, found.right) or self._span_of(found.left, found.through)
            self._problem(span, "TW259", message, f"change what relates {left}, {through} and {right}")
            return None

    def _span_of(self, i: int, j: int) -> Span | None:
        names = {self.situations[i].name, self.situations[j].name}
        return next(
            (constraint.span for constraint in self.tree.pattern if {constraint.left, constraint.right} == names), None
        )

    # Results

    def _outputs(self) -> tuple[OutputColumn, ...]:
        tree = self.tree
        if tree.returns is None:
            columns = [OutputColumn("_".join(key.names), None, path=key.names) for key in tree.partition_by]
        elif tree.returns.kind == "situations":
            return ()
        else:
            found = [self._output(output) for output in tree.returns.outputs]
            columns = [column for column in found if column is not None]
        self._check_names(columns)
        return tuple(columns)

    def _output(self, output: st.Output) -> OutputColumn | None:
        value = output.value
        if isinstance(value, st.Attribute):
            if value.names not in {key.names for key in self.tree.partition_by}:
                name = print_expression(value)
                hint = f"add {name} to PARTITION BY, or write FIRST(A.{name}) of a situation"
                self._problem(value.span, "TW215", f"{name} is not a partition attribute", hint)
                return None
            return OutputColumn(output.alias or "_".join(value.names), None, path=value.names)
        if isinstance(value, st.Call):
            return None  # told when the text was read
        assert isinstance(value, st.Aggregate), "the grammar of interval queries has no others"
        function, argument = value.function, value.argument
        names = () if argument is None else argument.names
        if not names and function != "COUNT":
            self._wrong(value, f"only COUNT can have *; write {function}(A.attribute)")
            return None
        if names and names[0] not in self.number:
            hint = near_names(names[0], self.number) or f"the query defines {', '.join(self.number) or 'none'}"
            self._problem(value.span, "TW251", f"unknown situation {names[0]}", hint)
            return None
        if names and function == "DURATION" and len(names) > 1:
            self._wrong(value, f"write DURATION({names[0]})")
            return None
        if names and function not in ("COUNT", "DURATION") and len(names) < 2:
            self._wrong(value, f"write {function}({names[0]}.attribute)")
            return None
        if names and self._counts():
            hint = "count the matches of windows with COUNT(*), or list each match without it"
            self._problem(value.span, "TW256", "COUNT(*) can only be combined with partition attributes", hint)
            return None
        own = print_expression(value) if isinstance(argument, st.Calculated) else "_".join((function.lower(), *names))
        name = output.alias or own
        return OutputColumn(name, function, self.number[names[0]] if names else None, names[1:] or None)

    def _wrong(self, value: st.Aggregate, hint: str) -> None:
        message = f"{print_expression(value)} has the wrong kind of argument"
        self._problem(value.span, "TW213", message, hint)

    def _check_names(self, columns: list[OutputColumn]) -> None:
        own = ["window_start", "window_end"]
        if not self._counts():
            own = ["time", *(f"{name}_{end}" for name in self.number for end in ("start", "end"))]
        span = self.tree.span if self.tree.returns is None else self.tree.returns.span
        seen: set[str] = set()
        for name in (*own, *(column.name for column in columns)):
            if name in seen:
                self._problem(span, "TW214", f"two output columns are named {name}", "rename one with AS")
            seen.add(name)

    def _needed(self, situations: tuple[SituationPlan, ...], outputs: tuple[OutputColumn, ...]) -> Iterator[Path]:
        yield from (attribute.names for attribute in self.tree.partition_by)
        for situation in situations:
            if situation.condition is not None:
                yield from (node.names for node in situation.condition.walk() if isinstance(node, st.Attribute))
        for output in outputs:
            yield from sorted(st.columns_at(output.path)) if output.path is not None else ()


def _is_prev(node: st.Node) -> bool:
    return isinstance(node, st.Call) and node.function == PREV


def _as_it_is(node: st.Attribute) -> st.Expression:
    """Places in the text are dropped, as they would only make plans differ."""
    return st.Attribute(node.names)


def _is_longer(left: st.Duration, right: st.Duration) -> bool:
    return left.nanoseconds is not None and right.nanoseconds is not None and left.nanoseconds > right.nanoseconds


def _list_relations(mask: int) -> str:
    return " or ".join(names_of(mask))


def _groups(count: int, related: set[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    """Situations that constraints connect, directly or through others."""
    group = list(range(count))
    for i, j in related:
        low, high = sorted((group[i], group[j]))
        group = [low if number == high else number for number in group]
    return tuple(tuple(i for i in range(count) if group[i] == number) for number in sorted(set(group)))
