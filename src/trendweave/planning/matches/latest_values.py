"""A plain `C.item` in RETURN EACH is the one of the trend's latest c, as in SQL's MATCH_RECOGNIZE."""

from __future__ import annotations

from dataclasses import replace

from trendweave.language import syntax_tree as st
from trendweave.planning.outputs import map_leaves
from trendweave.planning.predicates import split_key
from trendweave.planning.variables import Variables


def spell_out(query: st.QueryTree, variables: Variables) -> st.QueryTree:
    """Write `LAST(C.item) AS item` for `C.item`, where a row is one trend and C.item is no grouping attribute.

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

    def latest(node: st.Attribute | st.Aggregate) -> st.Expression:
        if isinstance(node, st.Aggregate):
            return node
        variable, path = split_key(node, variables)
        if variable is None or variable not in variables.positive or (variable, path) in grouped:
            return node
        return st.Aggregate("LAST", node, span=node.span)

    outputs = []
    for output in returns.outputs:
        value, alias = map_leaves(output.value, latest), output.alias
        if isinstance(output.value, st.Attribute) and value is not output.value and alias is None:
            alias = "_".join(output.value.names[1:])
        outputs.append(replace(output, value=value, alias=alias))
    return replace(
        query,
        returns=replace(returns, outputs=tuple(outputs)),
        having=tuple(map_leaves(condition, latest) for condition in query.having),
        order_by=tuple(replace(item, value=map_leaves(item.value, latest)) for item in query.order_by),
    )
