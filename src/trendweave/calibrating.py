"""`trendweave.calibrate()`: measure the speed of this machine's devices, for device="auto"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trendweave.devices.choosing import Costs
    from trendweave.operators import Operator
    from trendweave.runners.auto.calibrate import Bind

_QUERIES = {
    "nothing": "RETURN k, COUNT(*) PATTERN A WHERE [k] AND A.x > 1 GROUP-BY k",
    "short": "RETURN k, COUNT(*) PATTERN A WHERE [k] AND A.x > 0 GROUP-BY k",
    "running sums": "RETURN k, COUNT(*) PATTERN SEQ(A, B, C) WHERE [k] GROUP-BY k",
    "sums over ranks": "RETURN k, COUNT(*) PATTERN A+ WHERE [k] AND A.x < NEXT(A).x GROUP-BY k",
    "scan": "RETURN k, COUNT(*) PATTERN A+ WHERE [k] AND A.x < NEXT(A).x AND A.y < NEXT(A).y GROUP-BY k",
    "trends one by one": "RETURN EACH COUNT(B) PATTERN SEQ(A, B) WHERE [k] AND A.x < 0.1 WITHIN 10 minutes",
    "links": "RETURN EACH COUNT(B) PATTERN SEQ(A, B) WHERE abs(A.x - B.x) <= 0.000001 WITHIN 10 hours",
    "intervals": "FROM A DEFINE X AS x > 0.5, Y AS y > 0.5 PARTITION BY k PATTERN X before Y WITHIN 1 hour",
}


def calibrate(save: bool = True) -> Costs:
    """Measure the speed of this machine's devices, which device="auto" uses from then on. It takes some seconds; run
    nothing else meanwhile.

    Args:
        save: Store the prices in the user's cache folder ($XDG_CACHE_HOME/trendweave/devices.json).

    Returns:
        Prices in nanoseconds.
    """
    from trendweave.runners.auto.calibrate import measure_costs

    found = measure_costs(_cases())
    if save:
        found.save()
    return found.costs


def _cases() -> Mapping[str, Bind]:
    from trendweave import operators as ops

    cases = {kind: _bind_query(text) for kind, text in _QUERIES.items()}
    # Few rows come out: what is written is another price.
    cases["filter"] = _bind_operator(ops.filter("x * x + y * y < 0.001"))
    cases["windows"] = _bind_operator(ops.window_aggregate("MAX(x) AS most", rows=100, slide_rows=20, keys=["k"]))
    # One join finds nothing in sorted values, the other tests all pairs; both write hardly a row.
    cases["partners"] = _bind_operator(ops.window_join("left.x = right.y", left="100 rows", right="100 rows"))
    cases["pairs"] = _bind_operator(
        ops.window_join("left.x * right.y > 0.999999", left="10000 rows", right="10000 rows")
    )
    return cases


def _bind_query(text: str) -> Bind:
    from trendweave.programs.bind import bind
    from trendweave.queries import query
    from trendweave.runners.options import Settings

    asked = query(text)
    # Patterns of one type take all events.
    type_ = "type" if "SEQ" in text else None
    return lambda events, device: bind(asked.plan, events, "time", type_, Settings(numbers="float64", device=device))


def _bind_operator(operator: Operator) -> Bind:
    from trendweave.operators.binding import Asked
    from trendweave.runners.options import Settings

    asked = Asked(operator.operators, "time", None)
    return lambda events, device: asked.bind(events, Settings(device=device))
