"""Words for the parts of a plan, shared by every way of showing one."""

from __future__ import annotations

from collections import Counter

from trendweave.language import syntax_tree as st
from trendweave.language.durations import duration_text
from trendweave.language.printer import print_expression, print_name
from trendweave.planning.chunks import TimeChunks
from trendweave.planning.folding import pane_length, plan_folding
from trendweave.planning.matches.certainty import Certainty, find_growth, plan_certainty
from trendweave.planning.outputs import map_leaves
from trendweave.planning.plan import (
    AggregateColumn,
    AnchorPlan,
    EdgePlan,
    Guard,
    KeyColumn,
    MovingWindow,
    Path,
    Plan,
    Selection,
    SessionWindow,
    SlidingWindow,
    Summing,
    Template,
    WholeInput,
    Window,
)
from trendweave.planning.predicates import rewrite_columns
from trendweave.planning.ways import takes_by_folding, takes_directly


def path_text(path: Path) -> str:
    return ".".join(print_name(name) for name in path)


def qualified(variable: str | None, path: Path) -> str:
    if variable is not None and path and isinstance(path[0], st.CalculatedName):
        return print_expression(path[0].of(variable))
    return path_text(path) if variable is None else path_text((variable, *path))


def state_names(template: Template) -> list[str]:
    """The variable of each state, numbered where several states share one."""
    names = [state.variable for state in template.states]
    total, seen = Counter(names), Counter[str]()
    numbered = []
    for name in names:
        seen[name] += 1
        numbered.append(f"{name}#{seen[name]}" if total[name] > 1 else name)
    return numbered


def guard_text(guard: Guard, plan: Plan) -> str:
    """`NOT N`, several joined by AND, alternatives by OR; empty where nothing is asked."""
    if guard.always_open:
        return ""
    return " OR ".join(
        " AND ".join(f"NOT {plan.negations[number].text}" for number in alternative)
        for alternative in guard.alternatives
    )


def closed_text(closed: Guard, plan: Plan) -> str:
    """What must be in a gap so that it is not clean: `some N`; empty where nothing is asked."""
    each_way = [
        " OR ".join(f"some {plan.negations[number].text}" for number in alternative)
        for alternative in closed.alternatives
    ]
    return " AND ".join(f"({way})" if " OR " in way and len(each_way) > 1 else way for way in each_way)


def gap_text(guard: Guard, closed: Guard, plan: Plan) -> str:
    """All that is asked of a gap."""
    parts = [guard_text(guard, plan), closed_text(closed, plan)]
    if all(parts):
        parts = [f"({part})" if " OR " in part else part for part in parts]
    return " AND ".join(part for part in parts if part)


def edge_text(edge: EdgePlan) -> str:
    """The predicates of a pair of neighbours, as a query would write them."""

    def of(variable: str, expression: st.Expression, following: bool) -> str:
        return print_expression(_with_variable(expression, variable, following and edge.earlier == edge.later))

    parts = [
        f"{of(edge.earlier, comparison.previous, False)} {comparison.operator} {of(edge.later, comparison.next, True)}"
        for comparison in edge.comparisons
    ]
    parts += [f"{of_two_rows(edge, expression)} (general)" for expression in edge.general]
    return " AND ".join(parts)


def of_two_rows(edge: EdgePlan, expression: st.Expression) -> str:
    return print_expression(_with_variable(expression, edge.earlier, False, edge))


def local_text(variable: str, expression: st.Expression) -> str:
    return print_expression(_with_variable(expression, variable, False))


def _with_variable(
    expression: st.Expression, variable: str, following: bool, edge: EdgePlan | None = None
) -> st.Expression:
    def named(node: st.Attribute | st.NextAttribute) -> st.Expression:
        if isinstance(node, st.NextAttribute) and edge is not None and edge.earlier != edge.later:
            return st.Attribute((edge.later, *node.names))
        if isinstance(node, st.NextAttribute):
            return node
        if following:
            return st.NextAttribute(variable, node.names)
        of_situation = len(node.names) == 1 and st.is_during_column(node.names[0])
        return (st.During if of_situation else st.Attribute)((variable, *node.names))

    return rewrite_columns(expression, named)


def anchor_text(condition: AnchorPlan) -> str:
    """A condition on earlier events, and what it costs."""
    names = {"last": "the latest {}", "first": "the first {}", "previous": "the {} directly before"}
    anchors = " and ".join(names[anchor.kind].format(anchor.variable) for anchor in condition.anchors)
    return (
        f"{condition.text}: one per value of {anchors}; events up to {condition.variable} are processed once per lane"
    )


def folding_text(plan: Plan) -> str:
    """What streams keep of events that the watermark has passed."""
    folding = plan_folding(plan)
    why_not = folding.why_not
    if isinstance(plan.window, WholeInput):
        return f"events are kept until the end: {why_not}"
    if why_not is not None:
        until = "their session ends" if isinstance(plan.window, SessionWindow) else "their windows have closed"
        return f"events are kept until {until}: {why_not}"
    assert isinstance(plan.window, SlidingWindow), "only these are folded"
    overlap = plan.window.length > plan.window.slide
    of = f"pane of {duration_text(pane_length(plan.window))}" if overlap else "window"
    per = "key, value" if folding.values else "key"
    return f"events are forgotten once the watermark has passed them; numbers are kept per {per} and {of}"


def emission_text(plan: Plan) -> str:
    """When rows come out of a stream."""
    certainty = plan_certainty(plan)
    length = duration_text(certainty.length)
    match certainty.moment:
        case "input":
            return "at the end of the input"
        case "window":
            return "at the end of their window, once the watermark has reached it"
        case "session":
            return f"at the end of their session, once the watermark is {length} after its last event"
        case "time" if plan.returns == "aggregates":
            return "at their time, once the watermark has passed it"
        case "either" if certainty.goes_on:
            goes_on = _any_of(certainty.goes_on)
            return (
                f"at the end of a match, or {length} after its first event where a longer one that holds it may go on "
                f"with {goes_on}"
            )
        case "either":
            return f"at the end of a match, or {length} after its first event where NOT guards its end"
        case "after first" if not certainty.goes_on:
            guarded = all(not end.guard.always_open for end in plan.template.ends)
            which = "its end" if guarded else "the end of some"
            return f"{length} after the first event of a match, because NOT guards {which} until then"
        case "after first" | "after last":
            since = "the first event" if certainty.moment == "after first" else "the end"
            goes_on = _any_of(certainty.goes_on)
            return f"{length} after {since} of a match, because a longer one that holds it may go on with {goes_on}"
    assert certainty.moment in ("time", "decided"), "all others are told"
    waits = _waits(plan, certainty) if certainty.moment == "decided" else []
    if not waits:
        return "at the end of a match, once the watermark has passed it"
    return f"up to {length} after the end of a match, because {' and '.join(waits)}"


def _waits(plan: Plan, certainty: Certainty) -> list[str]:
    """Why a match that has ended may have to wait until it is decided whether it is taken, or complete."""
    growth = find_growth(plan)
    shortest = plan.selection is not None and plan.selection.shortest
    own = dict.fromkeys((*(() if shortest else growth.own), *certainty.goes_on))
    waits = [f"{_any_of(tuple(own))} may go on"] if own else []
    if certainty.in_order and growth.earlier:
        waits.append(f"an earlier beginning may go on with {_any_of(growth.earlier)}")
    return waits


def _any_of(names: tuple[str, ...]) -> str:
    return " or ".join(print_name(name) for name in names)


def window_text(window: Window) -> str:
    match window:
        case SlidingWindow(length=length, slide=slide):
            if length == slide:
                return f"{duration_text(length)}, one after the other"
            overlap = -(-length // slide)
            return (
                f"{duration_text(length)}, sliding by {duration_text(slide)}; "
                f"an event lies in up to {overlap:,} windows"
            )
        case MovingWindow(length=length, by="time"):
            return f"{duration_text(length)}, moving with the stream: a row at each time at which trends end"
        case MovingWindow(length=length, by=by, wide=wide):
            stands = "ending with its last event" if by == "last" else "beginning with its first event"
            beyond = f"; looks {duration_text(length)} further" if wide else ""
            return f"{duration_text(length)} for each trend once, {stands}{beyond}"
        case SessionWindow(gap=gap):
            return (
                f"sessions: a window per run of events of a partition with less than {duration_text(gap)} between them"
            )
        case WholeInput():
            return "one over the whole input (batch only)"


def way_text(summing: Summing) -> tuple[str, str]:
    """The way to sum and its cost; both ways where some numbers need another one."""
    ways = dict.fromkeys((summing.way, summing.inexact))
    return ", or ".join(way.value for way in ways), ", or ".join(dict.fromkeys(way.cost for way in ways))


def key_text(key: KeyColumn) -> str:
    return qualified(key.variable, key.path) + (" (NULL is a group)" if key.nullable else "")


def selection_text(selection: Selection) -> str:
    """Which trends are taken."""
    text = f"per beginning, the one that ends {'first' if selection.shortest else 'last'}"
    name = selection.variable
    return (
        text
        + {
            "next": "",
            "past last": "; then the next that begins after its last event",
            "first": f"; then the next that begins with its first {name} or later",
            "last": f"; then the next that begins with its last {name} or later",
        }[selection.skip]
    )


def selection_cost(plan: Plan) -> str:
    """What it costs to take trends, or to ask something of whole ones."""
    if not takes_directly(plan):
        return "every trend is built and looked at: at least the square of the events of a key and window"
    assert plan.selection is not None, "only a selection takes trends"
    events = "the events of a key" + (", each in all of its lanes" if plan.anchors else "")
    if plan.match_conditions or (isinstance(plan.window, MovingWindow) and plan.window.wide):
        return (
            f"grows with {events} and of the trends that are tested: one of each beginning, and its others only where "
            "that fails; at worst all trends"
        )
    if plan.selection.skip == "past last" or takes_by_folding(plan):
        return f"grows with {events}, however many trends there are"
    return f"grows with {events} and of the trends that are taken, which overlap"


def taking_cost(plan: Plan, edge: EdgePlan) -> tuple[str, str, str]:
    """The same of a transition: no sum, what an event costs, and why."""
    because = "trends are taken along links, and not counted"
    if plan.strategy == "contiguous":
        return "none", "O(k)", f"{because}; k events at the time just before"
    asked = any(condition.variable == edge.later for condition in plan.anchors)
    if edge.comparisons or edge.general or asked:
        return "none", "O(m)", f"{because}; m events that none has followed yet"
    return "none", "O(1)", f"{because}; each is followed once"


def aggregate_text(column: AggregateColumn) -> str:
    if column.is_length:
        return column.function if column.function == "LENGTH" else f"{column.function}(LENGTH)"
    if column.variable is None:
        return f"{column.function}(*)"
    return print_expression(_aggregate(column))


def _aggregate(column: AggregateColumn) -> st.Aggregate:
    variable, path = column.variable, column.path or ()
    argument: st.Attribute | st.Calculated | None = None
    if variable is not None:
        argument = st.Attribute((variable, *path))
        if path and isinstance(path[0], st.CalculatedName):
            argument = st.Calculated(path[0].of(variable), variable)
    return st.Aggregate(column.function, argument, column.distinct, column.parameter)


def output_text(plan: Plan, name: str) -> str:
    """A column of the result, and what it is."""
    if plan.outputs is None:
        return f"{name} = {aggregate_text(next(column for column in plan.aggregates if column.name == name))}"
    value = next(column.value for column in plan.outputs if column.name == name)
    text = computed_text(plan, value)
    return name if text == name else f"{name} = {text}"


def computed_text(plan: Plan, value: st.Expression) -> str:
    """An expression over aggregates, which stand in it as the query writes them."""

    def write(node: st.Attribute | st.Aggregate) -> st.Expression:
        found = [column for column in plan.aggregates if (column.name,) == getattr(node, "names", None)]
        if not found:
            return node
        if found[0].is_length:
            length = st.Attribute(("LENGTH",))
            return length if found[0].function == "LENGTH" else st.Aggregate(found[0].function, length)
        return _aggregate(found[0])

    return print_expression(map_leaves(value, write))


#: How rows of a batch meet on Spark: rows of situations without keys one by one, all others packed.
COLUMNS_TEXT = "columns: tasks pack rows by key, Spark shuffles the packs, tasks sort them"
ROWS_TEXT = "rows: Spark moves and sorts them by time"


def chunks_text(chunks: TimeChunks | None, window: Window) -> str:
    if chunks is None and isinstance(window, MovingWindow):
        return "at least a task per key; time is not split, as matches depend on both sides of a chunk"
    if chunks is None and isinstance(window, SessionWindow):
        return "a task per key at least; sessions are not cut by time"
    if chunks is None:
        return "at least a task per key; one window over the whole input is not split by time"
    text = f"keys are split into chunks of {duration_text(chunks.length)}"
    beyond = chunks.before + chunks.after
    if not beyond:
        return f"{text}; no event is read twice"
    side = "before" if chunks.before else "after"
    return f"{text}, each with the {duration_text(beyond)} {side} it: {chunks.read_twice:.0%} of events are read twice"
