"""Syntax tree -> plan. All that can be wrong without data is found here, and reported together."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from trendweave.errors import Problem
from trendweave.language import syntax_tree as st
from trendweave.language.printer import print_expression, print_pattern, print_query
from trendweave.language.syntax_tree import problem_at
from trendweave.planning import plan as p
from trendweave.planning.anchors import AnyOrder, Orders, plan_lanes
from trendweave.planning.automata import FREE_WAY, MAX_STATES, Automaton, NegationsNotKeptApart, TooManyStates
from trendweave.planning.matches.conditions import (
    aggregates_of,
    is_match_condition,
    match_paths,
    plan_match_conditions,
    spell_out,
)
from trendweave.planning.matches.selection import (
    check_listing,
    check_matches,
    plan_selection,
    plan_window,
    settle_window,
)
from trendweave.planning.outputs import (
    check_choice,
    check_conjunction,
    check_names,
    check_row_names,
    limits_ordered_rows,
    plan_groups,
    plan_outputs,
    plan_shown,
)
from trendweave.planning.predicates import Predicates, bind_key, classify, split_key
from trendweave.planning.template import as_template, build_automaton, build_negated, intersection
from trendweave.planning.variables import Variables, check_places, find_variables
from trendweave.planning.ways import choose_negated_ways, choose_ways


def make_plan(query: st.QueryTree, problems: list[Problem]) -> p.Plan | None:
    """The plan, or None when problems were added to the list."""
    of_pattern: list[Problem] = []
    variables = find_variables(query.pattern, of_pattern)
    check_places(query.pattern, of_pattern)
    problems += of_pattern
    text = print_query(query)
    query = spell_out(query, variables)
    check_conjunction(query, problems)
    check_choice(query, problems)
    selection = plan_selection(query, variables, problems)
    window = plan_window(query, problems)
    groups = plan_groups(query, variables, problems)
    outputs = plan_outputs(query, window, groups, variables, problems)
    check_names(query, window, groups, outputs.names, problems)
    # Predicates between variables can only be judged on a pattern that makes sense.
    strategy = query.strategy or "skip-till-any-match"
    built = _build_templates(query, variables, strategy, problems) if not of_pattern else None
    if built is None:
        of_events = tuple(condition for condition in query.where if not any(aggregates_of(condition)))
        classify(of_events, variables, AnyOrder(), problems)
        return None
    templates, negations = built
    window = settle_window(query, window, templates, problems)
    every = (*templates, *(negated.template for negated in negations))
    orders = Orders(every, frozenset(variables.types) - variables.positive)
    of_matches = tuple(condition for condition in query.where if is_match_condition(condition, orders))
    of_events = tuple(condition for condition in query.where if condition not in of_matches)
    match_conditions = plan_match_conditions(of_matches, variables, problems)
    predicates = classify(of_events, variables, orders, problems)
    partition_key, bound_keys = _plan_keys(predicates, groups)
    if strategy == "skip-till-next-match":
        bound_keys = _remember_keys(bound_keys, groups, variables, orders, predicates)
    _check_bound_keys(query, bound_keys, variables, templates, problems)
    needed = _needed_columns(variables, predicates, (*partition_key, *bound_keys), outputs.aggregates)
    for variable, paths in match_paths(match_conditions).items():
        needed[variables.types[variable]] |= paths
    shown = plan_shown(query, variables, needed, problems)
    if query.return_kind == "rows":
        check_row_names(query, window, groups, shown, problems)
    if problems:
        return None
    edges = _plan_edges(orders.neighbours, variables, predicates)
    anchors = tuple(predicates.anchors)
    plan = p.Plan(
        text=text,
        returns=query.return_kind,
        complete=query.complete,
        strategy=strategy,
        window=window,
        variables=tuple(
            p.VariablePlan(name, type_, name not in variables.positive, tuple(predicates.local.get(name, ())))
            for name, type_ in variables.types.items()
        ),
        templates=tuple(
            choose_ways(template, edges, strategy, plan_lanes(anchors, template)) for template in templates
        ),
        negations=tuple(
            replace(
                negated,
                template=choose_negated_ways(negated.template, edges, plan_lanes(anchors, negated.template)),
            )
            for negated in negations
        ),
        edges=edges,
        partition_key=partition_key,
        bound_keys=bound_keys,
        groups=groups,
        aggregates=outputs.aggregates,
        outputs=outputs.outputs,
        having=outputs.having,
        order_by=outputs.order_by,
        limit=query.choice.count if query.choice is not None and limits_ordered_rows(query) else None,
        needed_columns=_with_shown(needed, shown, variables),
        shown=shown,
        choice=None if limits_ordered_rows(query) else _plan_choice(query.choice),
        match_conditions=match_conditions,
        selection=selection,
        anchors=anchors,
    )
    check_matches(query, plan, problems)
    check_listing(query, plan, problems)
    return None if problems else plan


def _build_templates(
    query: st.QueryTree, variables: Variables, strategy: str, problems: list[Problem]
) -> tuple[tuple[p.Template, ...], tuple[p.NegatedPattern, ...]] | None:
    """Templates of the pattern (three for a conjunction) and of every pattern under NOT, nested ones included."""
    pattern = query.pattern
    numbers: dict[st.Pattern, int] = {}
    # A list under WITHIN alone has a window per trend, and none that could be looked at by itself.
    window_apart = query.return_kind == "aggregates" or query.within is None or bool(query.slide) or query.session
    parts = pattern.parts if isinstance(pattern, st.Conjunction) else (pattern,)
    blocking = strategy == "skip-till-next-match"
    automata = [_build(part, numbers, blocking, window_apart, problems) for part in parts]
    negated: list[Automaton | None] = []
    # Building one may number further ones that are nested inside it.
    while len(negated) < len(numbers):
        negated.append(_build_negated(list(numbers)[len(negated)], numbers, problems))
    if any(automaton is None for automaton in (*automata, *negated)):
        return None
    for body, automaton in zip(list(numbers), negated, strict=True):
        # NOT SEQ(C?, NOT E, D) begins with a NOT where there is no C.
        if automaton is not None and not window_apart and not _has_plain_ends(automaton):
            message = (
                "where each trend has its own window, an optional part lets the negated pattern begin or end with NOT"
            )
            hint = "add SLIDE, or make the parts around the inner NOT mandatory"
            problems.append(problem_at(body.span, "TW205", message, hint))
            return None
    sides = [automaton for automaton in automata if automaton is not None]
    if len(sides) == 2:
        try:
            sides.append(intersection(sides[0], sides[1], blocking))
        except TooManyStates:
            problems.append(_too_many_states(pattern))
            return None
    return (
        tuple(as_template(automaton, variables.types) for automaton in sides),
        tuple(
            p.NegatedPattern(number, print_pattern(body, level=2), as_template(automaton, variables.types))
            for (body, number), automaton in zip(numbers.items(), negated, strict=True)
            if automaton is not None
        ),
    )


def _build(
    pattern: st.Pattern,
    numbers: dict[st.Pattern, int],
    blocking: bool,
    window_apart: bool,
    problems: list[Problem],
) -> Automaton | None:
    """`window_apart`: windows may be looked at by themselves, where nothing else tells readings apart."""
    try:
        try:
            automaton, empty = build_automaton(pattern, numbers, blocking)
        except NegationsNotKeptApart:
            if not window_apart:
                raise
            automaton, empty = build_automaton(pattern, numbers, blocking, window_apart)
    except TooManyStates:
        problems.append(_too_many_states(pattern))
        return None
    except NegationsNotKeptApart as error:
        message = (
            "where each trend has its own window, the same events can match in two ways that differ in the NOTs "
            f"before and after them (at {error.variable})"
        )
        hint = f"add SLIDE, give the two places of {error.variable} different variables, or leave one of the NOTs out"
        problems.append(problem_at(pattern.span, "TW209", message, hint))
        return None
    return _checked(pattern, automaton, bool(empty), "pattern", problems)


def _build_negated(pattern: st.Pattern, numbers: dict[st.Pattern, int], problems: list[Problem]) -> Automaton | None:
    try:
        automaton, empty = build_negated(pattern, numbers)
    except TooManyStates:
        problems.append(_too_many_states(pattern))
        return None
    return _checked(pattern, automaton, bool(empty), "negated pattern", problems)


def _checked(
    pattern: st.Pattern, automaton: Automaton, empty: bool, what: str, problems: list[Problem]
) -> Automaton | None:
    """The automaton, if it reads anything, and nothing but events."""
    if not automaton.moves[0]:
        hint = "ask for at least one event"
        problems.append(problem_at(pattern.span, "TW207", f"the {what} matches nothing", hint))
        return None
    if empty:
        message = f"the {what} matches the empty sequence"
        hint = "ask for at least one event, for example with + instead of *"
        if isinstance(pattern, st.Repeat) and isinstance(pattern.body, st.Repeat) and pattern.high == 1:
            hint = "remove the ?, which makes all of it optional; for the shortest match add SHORTEST PER START"
        problems.append(problem_at(pattern.span, "TW206", message, hint))
        return None
    return automaton


def _has_plain_ends(automaton: Automaton) -> bool:
    """Does every match begin and end with an event, and not with a NOT?"""
    starts = [move.ways for move in automaton.moves[0]]
    return all(not ways or ways == FREE_WAY for ways in (*starts, *automaton.ends))


def _too_many_states(pattern: st.Pattern) -> Problem:
    message = f"the pattern needs more than {MAX_STATES:,} states"
    return problem_at(pattern.span, "TW208", message, "use smaller bounds, or + for unbounded repetition")


def _plan_keys(
    predicates: Predicates, groups: tuple[p.GroupColumn, ...]
) -> tuple[tuple[p.KeyColumn, ...], tuple[p.KeyColumn, ...]]:
    """Keys of all events (they split the input) and keys of single variables. A key that is in both lists must not be
    NULL."""
    keys = list(predicates.keys)
    for group in groups:
        if not any((key.path, key.variable) == (group.path, group.variable) for key in keys):
            keys.append(p.KeyColumn(group.path, group.variable, nullable=True))
    return (
        tuple(key for key in keys if key.variable is None),
        tuple(key for key in keys if key.variable is not None),
    )


def _remember_keys(
    bound_keys: tuple[p.KeyColumn, ...],
    groups: tuple[p.GroupColumn, ...],
    variables: Variables,
    orders: Orders,
    predicates: Predicates,
) -> tuple[p.KeyColumn, ...]:
    """Under skip-till-next-match an event of another value still stands in the way, so rows cannot be split by a key of
    one variable: it becomes a condition on the variable's events. Keys that are left are those of groups, and of
    negated patterns, which are matched with skip-till-any-match."""
    left = []
    grouped = {(group.variable, group.path) for group in groups}
    for key in bound_keys:
        if key.variable in variables.positive and (key.variable, key.path) not in grouped:
            bind_key(key.variable, key.path, orders, predicates)
        else:
            left.append(key)
    return tuple(left)


def _check_bound_keys(
    query: st.QueryTree,
    bound_keys: tuple[p.KeyColumn, ...],
    variables: Variables,
    templates: tuple[p.Template, ...],
    problems: list[Problem],
) -> None:
    """Keys of one variable split trends apart; not all that queries can say goes together with that.

    Under skip-till-next-match an event that follows another one, and has another value, would not be skipped. Where a
    variable only begins trends, none of its events is ever skipped."""
    following = {template.states[step.target].variable for template in templates for step in template.transitions}
    skipped = [key for key in bound_keys if key.variable in following and key.variable in variables.positive]
    if query.strategy == "skip-till-next-match" and skipped:
        path = ".".join(skipped[0].path)
        name = f"{skipped[0].variable}.{path}"
        message = f"skip-till-next-match cannot be combined with groups by {name}, an attribute of one variable"
        hint = f"group by {path} of all events, or use [{name}] alone"
        problems.append(problem_at(query.span, "TW223", message, hint))
    grouped = [attribute for attribute in query.group_by if split_key(attribute, variables)[0] is not None]
    if isinstance(query.pattern, st.Conjunction) and grouped:
        name = print_expression(grouped[0])
        message = f"a conjunction cannot be grouped by {name}: a pair is two trends, and each may have another {name}"
        problems.append(problem_at(grouped[0].span, "TW211", message, "group by an attribute of all events"))


def _plan_edges(
    neighbours: frozenset[tuple[str, str]], variables: Variables, predicates: Predicates
) -> tuple[p.EdgePlan, ...]:
    order = {name: index for index, name in enumerate(variables.types)}
    edges = []
    for pair in sorted(neighbours, key=lambda pair: (order[pair[0]], order[pair[1]])):
        comparisons = tuple(predicates.comparisons.get(pair, ()))
        general = tuple(predicates.general.get(pair, ()))
        edges.append(p.EdgePlan(*pair, comparisons, general))
    return tuple(edges)


def _needed_columns(
    variables: Variables,
    predicates: Predicates,
    keys: tuple[p.KeyColumn, ...],
    aggregates: tuple[p.AggregateColumn, ...],
) -> dict[str | None, set[p.Path]]:
    """Columns per type: what predicates, keys and aggregates look at."""
    paths: dict[str | None, set[p.Path]] = defaultdict(set)
    for variable, type_ in variables.types.items():
        needed = paths[type_]
        needed.update(key.path for key in keys if key.variable in (None, variable))
        for column in aggregates:
            needed.update(st.columns_at(column.path) if column.variable == variable and column.path else ())
        for expression in predicates.local.get(variable, ()):
            needed.update(columns_of(expression))
        for (earlier, later), comparisons in predicates.comparisons.items():
            for comparison in comparisons:
                needed.update(columns_of(comparison.previous) if earlier == variable else ())
                needed.update(columns_of(comparison.next) if later == variable else ())
        for (earlier, later), expressions in predicates.general.items():
            for expression in expressions:
                needed.update(columns_of(expression) if earlier == variable else ())
                needed.update(columns_of(expression, of_next=True) if later == variable else ())
        for condition in predicates.anchors:
            needed.update(_anchor_columns(condition, variable))
    return paths


def _anchor_columns(condition: p.AnchorPlan, variable: str) -> set[p.Path]:
    """What a condition on earlier events looks at of events read as the variable."""
    paths: set[p.Path] = set()
    for comparison in condition.comparisons:
        paths |= columns_of(comparison.previous) if condition.anchors[0].variable == variable else set()
        paths |= columns_of(comparison.next) if condition.variable == variable else set()
    for expression in condition.general:
        paths |= columns_of(expression, of_next=True) if condition.variable == variable else set()
        for number, *path in columns_of(expression):
            paths |= {tuple(path)} if condition.anchors[int(number)].variable == variable else set()
    return paths


def _with_shown(
    needed: dict[str | None, set[p.Path]], shown: tuple[p.ShownAttribute, ...], variables: Variables
) -> tuple[p.TypeColumns, ...]:
    """Columns per type, sorted, with what is shown of events in trends."""
    columns = {type_: set(paths) for type_, paths in needed.items()}
    for attribute in shown:
        for name in variables.positive if attribute.variables is None else attribute.variables:
            columns[variables.types[name]].add(attribute.path)
    return tuple(p.TypeColumns(type_, tuple(sorted(paths))) for type_, paths in columns.items())


def _plan_choice(choice: st.Choice | None) -> p.Choice | None:
    return None if choice is None else p.Choice(choice.kind, choice.count, choice.seed or 0)


def columns_of(expression: st.Expression, of_next: bool = False) -> set[p.Path]:
    """Columns of the row that a row expression looks at; in a general predicate, those of the earlier or the later
    row."""
    kind = st.NextAttribute if of_next else st.Attribute
    return {node.names for node in expression.walk() if isinstance(node, kind)}
