"""What a GPU refuses of operators, found by the columns alone."""

from __future__ import annotations

from collections.abc import Iterable

from trendweave.expressions.compiled.condition import Compiled, compile_condition
from trendweave.gpu import card
from trendweave.gpu.filter import require_compiled
from trendweave.language.printer import print_expression
from trendweave.programs.operators.chain import ChainedRows
from trendweave.programs.operators.filter import KeptEvents
from trendweave.programs.operators.joins.conditions import side_columns
from trendweave.programs.operators.joins.program import WindowJoin
from trendweave.programs.program import Program


def find_missing_card() -> str | None:
    """What is missing for runs on a card in this process; None where there is one."""
    return None if card.has_card() else "there is no GPU here, or no CuPy: a run in this process fails with TW416"


def check_card(program: Program) -> None:
    """That there is a card, and that it serves a program: before any of it runs.

    Raises:
        ExecutionError: TW416 or TW422.
    """
    card.find_card()
    check_on_card([program])


def check_on_card(programs: Iterable[Program]) -> None:
    """Of programs whose device is a card, those whose conditions no card evaluates.

    Raises:
        ExecutionError: TW422, for the first of them.
    """
    for program in programs:
        match program:
            case ChainedRows(filters=filters, stages=stages):
                check_on_card((*filters, *(stage.program for stage in stages)))
            case KeptEvents(device="gpu"):
                require_compiled(compile_condition(program.plan.condition, {"": program.events}))
            case WindowJoin(device="gpu"):
                _check_join(program)


def _check_join(join: WindowJoin) -> None:
    """One part that is compiled is enough: a core asks others of the pairs that pass it."""
    parts = join.condition.pairs
    columns = side_columns(join.sides, join.events)
    if parts and not any(isinstance(compile_condition(part, columns), Compiled) for part in parts):
        shown = " AND ".join(map(print_expression, parts))
        card.refuse_work(f"no part of {shown} is evaluated on a GPU", "threads")
