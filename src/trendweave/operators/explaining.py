"""What operators do, and where: told for people, or as data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from trendweave import places
from trendweave.errors import OptionError, Problem, near_names
from trendweave.events import TypeColumn
from trendweave.operators.running import bind_stages, chain_of, find_device
from trendweave.operators.texts import window_text
from trendweave.planning.operator_plans import AggregatePlan, FilterPlan, JoinPlan, RowCount, TimeSpan, Window
from trendweave.queries import Query

if TYPE_CHECKING:
    from trendweave.operators.operator import Operator, Piped
    from trendweave.programs.operators.chain import Stage

FORMATS = ("text", "json")


@dataclass(frozen=True, slots=True)
class Told:
    """What is told of an operator.

    Attributes:
        operator: How it is written.
        does: What its rows are.
        keys: What brings events together.
        windows: Its windows, one a line.
        runs: Where it runs: in this process, on Spark DataFrames, on Spark streams, on stores.
        keeps: What is kept of a stream.
        details: What its program tells of windows and of what is kept, once events are known.
        columns: The columns of its rows, once events are known.
    """

    operator: str
    does: str
    keys: tuple[str, ...]
    windows: tuple[str, ...]
    runs: Mapping[str, str]
    keeps: str
    details: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        shown = [self.operator, f"  {self.does}"]
        shown += [f"  {line}" for line in (self.details or (*self.windows, f"kept on a stream: {self.keeps}"))]
        shown += [f"  events meet by: {', '.join(self.keys)}"] if self.keys else []
        shown += [f"  {place}: {how}" for place, how in self.runs.items()]
        return shown + ([f"  rows have: {', '.join(self.columns)}"] if self.columns else [])


def explain(
    piped: Piped,
    events: Any,
    right: Any,
    time: str,
    type_: TypeColumn,
    format: str,
    options: Mapping[str, Any],
) -> str:
    """What each operator does, and where.

    Raises:
        OptionError: The format is not known, or there are options without events.
        DataError: An operator does not fit the events.
    """
    if format not in FORMATS:
        hint = near_names(str(format), FORMATS) or "leave it out for text"
        raise OptionError([Problem("TW408", f"operators are explained as {' or '.join(FORMATS)}", hint)])
    if events is None and options:
        message = f"explain takes the options {', '.join(options)} with events"
        raise OptionError([Problem("TW408", message, "give it events, or their schema")])
    stages: tuple[Stage, ...] = ()
    chain: dict[str, Any] = {}
    device: dict[str, Any] = {}
    device_lines: Sequence[str] = ()
    if events is not None:
        stages, settings = bind_stages(piped, events, right, time, type_, options)
        chain = chain_of(stages)
        problem = _find_problem(events) if settings.device == "gpu" else None
        device = {"device": settings.device} | ({} if problem is None else {"problem": problem})
        device_lines = [f"device: {settings.device}", *([] if problem is None else [f"  {problem}"])]
        if settings.device == "auto":
            choice = find_device(piped, events, right, time, type_, options)
            if choice is not None:
                device, device_lines = device | choice.data(), choice.tell()
    first = [number for number, one in enumerate(piped.operators) if not isinstance(one.task, FilterPlan)]
    told = []
    for number, operator in enumerate(piped.operators):
        leading = not first or number <= first[0]
        told.append(_tell(operator, leading, number == 0, stages[number] if stages else None))
    if format == "json":
        return json.dumps({"operators": [asdict(one) for one in told], **chain, **device}, indent=2)
    lines = [line for one in told for line in one.lines()]
    lines += [f"{name}: {value or 'no key, so in one place'}" for name, value in chain.items()]
    return "\n".join([*lines, *device_lines])


def _find_problem(events: Any) -> str | None:
    """What is missing for a run on a card in this process; tasks of Spark have cards of their own, if any."""
    if places.is_spark(events) or places.is_read_by_tasks(events):
        return None
    from trendweave.programs.operators.on_gpu import find_missing_card

    return find_missing_card()


def _tell(operator: Operator, leading: bool, first: bool, stage: Stage | None) -> Told:
    task = operator.task
    details: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    if stage is not None:
        describe = getattr(stage.program, "describe", None)
        details = tuple(describe()) if describe is not None else ()
        columns = tuple(f"{field.name} {field.type}" for field in stage.program.schema)
    keys: tuple[str, ...] = () if isinstance(task, FilterPlan | Query) else task.keys
    if isinstance(task, Query) and stage is not None:
        keys = tuple(stage.met_by)
    does, windows, keeps = _what(task)
    return Told(operator.text, does, keys, windows, _where(task, leading, first), keeps, details, columns)


def _what(task: Any) -> tuple[str, tuple[str, ...], str]:
    match task:
        case FilterPlan():
            return "events in which the condition is true, with all columns", (), "nothing but events not yet in order"
        case AggregatePlan(window=window):
            kept = "events of windows that are not over"
            if isinstance(window, RowCount):
                kept = f"of each key, its last {window.rows} events, and how many there were"
            return "a row for each window and key", (f"windows: {_window(window, window_slide(window))}",), kept
        case JoinPlan(left=left, right=right):
            windows = tuple(
                f"events of the {other} side look into the {side} side's {_window(window, None)}"
                for side, other, window in (("left", "right", left), ("right", "left", right))
            )
            return "a row for each pair of events that meet", windows, "events of both active windows"
        case Query(kind=kind):
            does = "the rows of a query that looks for " + {"intervals": "matches of situations"}.get(kind, kind)
            return does, (), "what the query keeps; explain of the query tells more"
    raise AssertionError("an operator of no kind")


def window_slide(window: Window) -> int:
    """The slide that windows have which lie side by side."""
    return window.length if isinstance(window, TimeSpan) else window.rows


def _window(window: Window, usual: int | None) -> str:
    side_by_side = usual is not None and window.slide == usual
    moves = "side by side" if side_by_side else "as each event comes" if window.slide in (None, 1) else ""
    shown = window_text(window, window.slide).lower() if moves else window_text(window, None).lower()
    return f"{shown}, {moves}" if moves else shown


def _where(task: Any, leading: bool, first: bool) -> dict[str, str]:
    """Where an operator runs, by place. Those before the first that is no filter stand at the beginning."""
    is_filter, is_query = isinstance(task, FilterPlan), isinstance(task, Query)
    plain = isinstance(task, AggregatePlan) and isinstance(task.window, TimeSpan)
    here = "Arrow, or a compiled loop once that pays" if is_filter else "kernels on rows sorted by key and time"
    batch = "Spark SQL" if is_filter else "tasks, one for some keys"
    if plain:
        batch = "Spark SQL where Spark adds up as we do, else tasks, one for some keys"
    stream = "Spark SQL" if is_filter and leading else "one program in the state of the stream"
    store = "the rows of the operator before, in this process"
    if is_filter and leading:
        store = "row groups in which the condition may hold"
    elif first and is_query:
        store = "by its indexes, where that costs less"
    elif first and plain:
        store = "what is known of whole blocks, and events at their edges"
    elif first or leading:
        store = "its events, in this process"
    return {"here": here, "Spark DataFrame": batch, "Spark stream": stream, "store": store}
