"""A plain `C.item` in RETURN EACH is the one of the trend's latest c, as in SQL's MATCH_RECOGNIZE; an attribute of an
equivalence is the one that all events of the trend have."""

from __future__ import annotations

from dataclasses import replace

from trendweave.language import syntax_tree as st
from trendweave.planning.outputs import map_leaves
from trendweave.planning.predicates import split_key
from trendweave.planning.variables import Variables


def spell_out(query: st.QueryTree, variables: Variables) -> st.QueryTree:
    """Write `LAST(C.item) AS item` for `C.item`, where a row is one trend and C.item is no grouping attribute.

    For the k of `[k]` it is the one of whatever event there is.

    Args:
        query: The query as it was written.
        variables: Its variables.

    Returns:
        The same query without such attributes.
    """
    returns = query.returns
    if returns is None or returns.kind != "each":
        return query
    grouped = {split_key(attribute, variables) for attribute in query.group_by}
    equivalences = [conjunct for conjunct in query.where if isinstance(conjunct, st.Equivalence)]
    shared = {split_key(attribute, variables) for equal in equivalences for attribute in equal.attributes}
    present = tuple(name for name in variables.types if name in variables.positive)

    def latest(node: st.Attribute | st.Aggregate) -> st.Expression:
        if isinstance(node, st.Aggregate):
            return node
        variable, path = split_key(node, variables)
        if (variable, path) in grouped:
            return node
        if variable is None and (variable, path) in shared:
            told = tuple(st.Aggregate("LAST", st.Attribute((name, *path)), span=node.span) for name in present)
            return told[0] if len(told) == 1 else st.Call("COALESCE", told, span=node.span)
        return st.Aggregate("LAST", node, span=node.span) if variable in variables.positive else node

    outputs = []
    for output in returns.outputs:
        value, alias = map_leaves(output.value, latest), output.alias
        if isinstance(output.value, st.Attribute) and value is not output.value and alias is None:
            alias = "_".join(split_key(output.value, variables)[1])
        outputs.append(replace(output, value=value, alias=alias))
    return replace(
        query,
        returns=replace(returns, outputs=tuple(outputs)),
        having=tuple(map_leaves(condition, latest) for condition in query.having),
        order_by=tuple(replace(item, value=map_leaves(item.value, latest)) for item in query.order_by),
    )
