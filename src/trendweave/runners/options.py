"""The options of every host: their names, values and defaults.

Arguments win over the session's `spark.trendweave.*`, and those over defaults. A wrong one is an error before anything
runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from trendweave.devices.names import DEVICES, Device
from trendweave.errors import TrendweaveError, near_names, raise_together
from trendweave.language.durations import read_duration
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.situated_plan import QueryPlan, SituatedPlan
from trendweave.programs.trends.detection import (
    LIMITS,
    MAX_TRENDS,
    MEMORY,
    STRATEGIES,
    Detection,
    Limits,
    Strategy,
    Wishes,
)
from trendweave.results.types import NUMBERS, Numbers
from trendweave.rows.given_times.options import read_time_options
from trendweave.rows.given_times.reading import AS_THEY_ARE, TimeReading
from trendweave.rows.given_times.units import TimeUnit
from trendweave.runners.metrics import Metrics
from trendweave.runners.option_values import (
    SETTINGS,
    read_between,
    read_bytes,
    read_chunks,
    read_flag,
    read_max_trends,
    read_memory,
    read_order,
    read_positive,
    read_word,
    refuse,
)

if TYPE_CHECKING:
    from pyspark.sql import Observation, SparkSession

#: Whether what queries have in common is computed once, for each burst of events: as it pays, always, or never.
Sharing: TypeAlias = Literal["auto", "always", "never"]
SHARING: tuple[Sharing, ...] = ("auto", "always", "never")
#: How rows of a Spark DataFrame meet: packed into columns by tasks, or one by one, sorted by Spark.
Exchange: TypeAlias = Literal["auto", "columns", "rows"]
EXCHANGES: tuple[Exchange, ...] = ("auto", "columns", "rows")
#: How a store is read: as it costs least, by its indexes, or all of it.
Using: TypeAlias = Literal["auto", "index", "replay"]
USING: tuple[Using, ...] = ("auto", "index", "replay")


#: What a rule has besides its query, and rows may have.
RuleColumn: TypeAlias = Literal["version", "description"]
RULE_COLUMNS: tuple[RuleColumn, ...] = ("version", "description")


class Options(TypedDict, total=False):
    """Options of `run`, `iter`, `incremental`, `push` and so on. Each host takes its own; None means the default."""

    numbers: Numbers | None
    """How counts and sums of integers are returned: "decimal" (exact up to 38 digits; the default), "int64", "text"
    (exact, any size), "float64", or "log2" of counts. Every host.
    """
    memory: str | int | None
    """Memory limit for listing trends, such as "512 MB" (the default), or a number of bytes. Every host."""
    max_trends: int | None
    """A query that would list more trends is refused; one million by default. Every host."""
    max_rows: int | str | None
    """A query whose sliding windows could make more rows is refused; 100 million unless given. Everywhere."""
    max_work: int | str | None
    """A pattern is refused whose template has more states times transitions times events; 10^11 unless given. Templates
    with at most 10,000 states times transitions are not counted. Everywhere."""
    strategy: Strategy | None
    """The algorithm that lists trends: "m-cet" walks with one trend in memory, "t-cet" stores all prefixes of trends,
    "h-cet" joins partial trends of time ranges, "baseline" extends every trend by every event. By default the optimiser
    chooses. Every host.
    """
    time_unit: TimeUnit | None
    """The unit of an integer time column, since 1970: "s", "ms", "us" or "ns". The times become UTC timestamps, also in
    the result. Without it numbers are seconds and stay numbers. Every host but stores, which take it in `append`.
    """
    time_format: str | None
    """The format of a text time column: "iso" for 2024-05-01T12:30:59.5+02:00 and shorter forms, or a format of
    Python's `strptime`, such as "%d.%m.%Y %H:%M:%S" or "%d/%b/%Y:%H:%M:%S %z". Without a zone they are UTC. The times
    become timestamps; a text that does not have the format is NULL. Every host but stores, which take it in
    `append`.
    """
    order_by: str | Sequence[str] | None
    """Tie-breaking: one or more columns that order events with the same timestamp, NULL first. Without it, and if these
    are equal too, events with the same timestamp never follow each other. Windows use times alone. Trend queries, every
    host.
    """
    device: Device | None
    """What computes: "cpu" (one core; the default), "threads" (all cores of this process), "gpu" (a GPU), or "auto",
    the one with the lowest estimated time. The rows are the same. Every host.
    """
    chunks: str | None
    """The length of time chunks, such as "2 hours", or "auto" (the default), or "off". Spark batch."""
    exchange: Exchange | None
    """The shuffle format: "columns" (tasks pack rows into blobs), "rows" (Spark shuffles and sorts rows), or "auto"
    (the default). The results are the same. Spark batch.
    """
    rows_at_once: int | str | None
    """Rows that a task computes at once; keys are never split. Spark batch."""
    max_rows_of_a_key: int | str | None
    """A key (in its time chunk) with more rows is an error. Spark batch."""
    bytes_in_memory: int | str | None
    """Bytes of packed rows that a task holds in memory; more spills to a temporary file. Spark batch."""
    buckets: int | str | None
    """The number of buckets that the keys of a stream are split into; "auto" (the default) is the number of shuffle
    partitions of the session, at most 16. Spark streams.
    """
    watermark: str | None
    """The delay of the watermark: how late an event may be, relative to the latest one, such as "10 seconds". Spark
    streams and `push`.
    """
    early: bool | None
    """Return rows of open windows with every micro-batch. Spark streams."""
    late_rows: bool | None
    """Return late events as well, in a column `late`. Spark streams."""
    metrics: Metrics | str | None
    """Counts of rows read and dropped, of events with the same timestamp, and of trends: a `trendweave.Metrics`, which
    in Spark batch has them after the first action, and counts what a workload shared; on Spark streams the name of the
    metrics in the progress of the query.
    """
    observation: Observation | Metrics | None
    """A `pyspark.sql.Observation` that gets the counts of rows. Spark batch."""
    state: bytes | None
    """The result of `session.state()`, to resume that session. `push`."""
    between: tuple[Any, Any] | None
    """A time range, from the first time (inclusive) to the second (exclusive): dates or times (UTC without a zone), or
    numbers if times are numbers. Stores.
    """
    using: Using | None
    """The access path of a store: "auto" (the default) chooses the lowest estimated cost, "index" uses its indexes,
    "replay" scans it. The rows are the same. Stores.
    """
    spark: SparkSession | None
    """A session whose tasks read a store; by default this process does. Stores."""
    progress: bool | None
    """Whether a run of more than two seconds shows a progress bar: None (the default) on a terminal or in a notebook,
    False never. Also TRENDWEAVE_PROGRESS=off in the environment. `run` and `iter`, on stores and in Spark batch.
    """
    sharing: Sharing | None
    """Whether common parts of patterns are computed once: "auto" (the default) decides for each burst of events,
    "always", or "never". The rows are the same. Workloads, every host.
    """
    rule_columns: RuleColumn | Sequence[RuleColumn] | None
    """Columns behind `query` with the "version" or "description" of each row's rule, or both. Workloads, every host."""


class Place(Enum):
    """Where a query is asked to run; the value is how an error calls it."""

    RUN = "run()"
    ITER = "iter()"
    SCHEMA = "schema()"
    INCREMENTAL = "incremental()"
    PUSH = "push()"
    STORE = "run() on a store"
    SPARK_BATCH = "run() on a Spark DataFrame"
    SPARK_STREAM = "run() on a Spark stream"


_ANYWHERE = ("numbers", "memory", "max_trends", "max_rows", "max_work", "strategy", "device", "order_by")
_OF_TIMES = ("time_unit", "time_format")
_EVERYWHERE = (*_ANYWHERE, *_OF_TIMES)
_IN_BATCH = (
    "progress",
    "metrics",
    "observation",
    "chunks",
    "exchange",
    "rows_at_once",
    "max_rows_of_a_key",
    "bytes_in_memory",
)
_ON_STORES = ("progress", "between", "using", "metrics", "spark")
_ON_STREAMS = ("buckets", "watermark", "early", "late_rows", "metrics")
_TAKEN: dict[Place, tuple[str, ...]] = {
    Place.RUN: (*_EVERYWHERE, "progress", "metrics"),
    Place.ITER: (*_EVERYWHERE, "progress", "metrics"),
    Place.STORE: (*_ANYWHERE, *_ON_STORES),
    Place.SCHEMA: tuple(dict.fromkeys((*_EVERYWHERE, *_IN_BATCH, *_ON_STREAMS, *_ON_STORES))),
    Place.INCREMENTAL: _EVERYWHERE,
    Place.PUSH: (*_EVERYWHERE, "watermark", "state"),
    Place.SPARK_BATCH: (*_EVERYWHERE, *_IN_BATCH),
    Place.SPARK_STREAM: (*_EVERYWHERE, *_ON_STREAMS),
}


def _less(names: tuple[str, ...], *others: str) -> tuple[str, ...]:
    return tuple(name for name in names if name not in others)


#: Places that compute in this process.
_IN_PROCESS = (Place.RUN, Place.ITER, Place.INCREMENTAL, Place.PUSH)
_ON_SPARK = (Place.SPARK_BATCH, Place.SPARK_STREAM)
_OF_WORKLOADS: dict[Place, tuple[str, ...]] = {
    place: tuple(dict.fromkeys((*taken, "sharing", "rule_columns", *(("metrics",) if place in _IN_PROCESS else ()))))
    for place, taken in _TAKEN.items()
}
#: Operators are run one by one on DataFrames, and what each of them counts would be told as one.
_OF_OPERATORS: dict[Place, tuple[str, ...]] = {
    place: _less(taken, "order_by", *(() if place is Place.SPARK_STREAM else ("metrics", "observation")))
    for place, taken in _TAKEN.items()
}


@dataclass(frozen=True, slots=True)
class Settings(Wishes):
    """All options of a run, checked, with defaults where nothing was given.

    `chunks` is "auto", "off", or the length of a chunk of time in nanoseconds. `metrics` is the name of counts on a
    stream, `observation` what gets them elsewhere.
    """

    chunks: Literal["auto", "off"] | int = "auto"
    exchange: Exchange = "auto"
    rows_at_once: int = 1_000_000
    max_rows_of_a_key: int = 20_000_000
    bytes_in_memory: int = 192 << 20
    buckets: Literal["auto"] | int = "auto"
    watermark: str | None = None
    early: bool = False
    late_rows: bool = False
    metrics: str = "trendweave"
    observation: Any = None
    state: bytes | None = None
    progress: bool | None = None
    sharing: Sharing = "auto"
    between: Any = None
    using: Using = "auto"
    spark: Any = None
    times: TimeReading = AS_THEY_ARE
    rule_columns: tuple[RuleColumn, ...] = ()


_DEFAULTS = Settings()


ReadSetting: TypeAlias = Callable[[str], str | None]


def make_settings(
    plan: QueryPlan, place: Place, given: Mapping[str, Any], read_setting: ReadSetting | None = None
) -> Settings:
    """Check the options of a call and fill in what was not given.

    Args:
        plan: The plan of the query, as some options only go with some queries.
        place: Where it is to run.
        given: The keyword arguments of the call.
        read_setting: Gives the value of a setting of the Spark session by its full name, None where it is not set.
            None outside of Spark.

    Raises:
        OptionError: An option is not known here, has a value that it cannot have, or does not go with the query.
    """
    _check_names(given, place, _TAKEN)
    options = _find_options(place, given, read_setting, _TAKEN[place])
    made = _make(place, options, _detection(plan, options))
    return replace(made, order_by=read_order([plan], options.get("order_by")))


def make_workload_settings(
    plans: Mapping[str, QueryPlan], place: Place, given: Mapping[str, Any], read_setting: ReadSetting | None = None
) -> Settings:
    """Check the options of a workload's call. What is for queries that look for trends, or show them, counts for those
    that do.

    Args:
        plans: The plans of its queries by name.
        place: As for `make_settings`.
        given: As for `make_settings`.
        read_setting: As for `make_settings`.

    Raises:
        OptionError: As for `make_settings`; there is an option for queries of a kind that is not there.
    """
    _check_names(given, place, _OF_WORKLOADS)
    options = _find_options(place, given, read_setting, _OF_WORKLOADS[place])
    finding = {name: plan for name, plan in plans.items() if _finds_trends(plan)} or plans
    detection, errors = _DEFAULTS.detection, list[TrendweaveError]()
    for name, plan in finding.items():
        try:
            detection = _detection(plan, options)
        except TrendweaveError as error:
            errors.append(error.about(name))
    raise_together(errors)
    made = _make(place, options, detection)
    order = read_order(plans.values(), options.get("order_by"))
    return replace(made, order_by=order, rule_columns=_read_rule_columns(options.get("rule_columns", ())))


def _read_rule_columns(value: Any) -> tuple[RuleColumn, ...]:
    """Each once, in the order in which they were given."""
    given = (value,) if isinstance(value, str) or not isinstance(value, Iterable) else value
    return tuple(dict.fromkeys(read_word("rule_columns", name, RULE_COLUMNS) for name in given))


def make_operator_settings(
    plans: Sequence[QueryPlan], place: Place, given: Mapping[str, Any], read_setting: ReadSetting | None = None
) -> Settings:
    """Check the options of operators. What is for queries that show trends counts for those that do.

    Args:
        plans: Those of queries among the operators.
        place: As for `make_settings`.
        given: As for `make_settings`.
        read_setting: As for `make_settings`.

    Raises:
        OptionError: As for `make_settings`; no query shows trends, and there is an option for such.
    """
    _check_names(given, place, _OF_OPERATORS)
    options = _find_options(place, given, read_setting, _OF_OPERATORS[place])
    detection = _DEFAULTS.detection
    if any(name in options for name in ("memory", "max_trends", "strategy")):
        finding = [plan for plan in plans if _finds_trends(plan)]
        if not finding:
            message = "memory, max_trends and strategy are for queries that list trends, not for other operators"
            raise refuse(message, "leave them out", "TW414")
        detection = [_detection(plan, options) for plan in finding][-1]
    return _make(place, options, detection)


def _find_options(
    place: Place, given: Mapping[str, Any], read_setting: ReadSetting | None, known: tuple[str, ...]
) -> dict[str, Any]:
    """Options that have a value, from the call or from the session."""
    options = {name: value for name, value in given.items() if value is not None}
    if read_setting is None:
        return options
    # The columns of a result depend on one of them, and what is told of a run on the other.
    asked = ("numbers", "device") if place is Place.SCHEMA else known
    for name, setting in SETTINGS.items():
        if name in asked and name not in options:
            options[name] = read_setting(f"spark.trendweave.{setting}")
    return {name: value for name, value in options.items() if value is not None}


def read_numbers(options: Mapping[str, Any]) -> Numbers:
    """How counts and sums are written, as options say.

    Raises:
        OptionError: It is none of the known ways.
    """
    return read_word("numbers", options.get("numbers", _DEFAULTS.numbers), NUMBERS)


def _make(place: Place, options: Mapping[str, Any], detection: Detection) -> Settings:
    watermark = options.get("watermark")
    if watermark is not None:
        read_duration(watermark, "watermark", or_none_at_all=True)
    observation, metrics = _observers(place, options)
    return Settings(
        numbers=read_numbers(options),
        detection=detection,
        device=_read_device(place, options.get("device", _DEFAULTS.device)),
        chunks=read_chunks(options.get("chunks", _DEFAULTS.chunks)),
        exchange=read_word("exchange", options.get("exchange", _DEFAULTS.exchange), EXCHANGES),
        rows_at_once=read_positive("rows_at_once", options.get("rows_at_once", _DEFAULTS.rows_at_once)),
        max_rows_of_a_key=read_positive(
            "max_rows_of_a_key", options.get("max_rows_of_a_key", _DEFAULTS.max_rows_of_a_key)
        ),
        bytes_in_memory=read_positive("bytes_in_memory", options.get("bytes_in_memory", _DEFAULTS.bytes_in_memory)),
        buckets=_read_buckets(options.get("buckets", _DEFAULTS.buckets)),
        watermark=watermark,
        early=read_flag("early", options.get("early", False)),
        late_rows=read_flag("late_rows", options.get("late_rows", False)),
        metrics=metrics,
        observation=observation,
        progress=None if options.get("progress") is None else read_flag("progress", options["progress"]),
        state=read_bytes("state", options.get("state")),
        between=read_between(options.get("between")),
        using=read_word("using", options.get("using", _DEFAULTS.using), USING),
        spark=options.get("spark"),
        sharing=read_word("sharing", options.get("sharing", _DEFAULTS.sharing), SHARING),
        times=read_time_options(options.get("time_unit"), options.get("time_format")),
        limits=Limits(
            read_positive("max_rows", options.get("max_rows", LIMITS.max_rows)),
            read_positive("max_work", options.get("max_work", LIMITS.max_work)),
        ),
    )


def _check_names(given: Mapping[str, Any], place: Place, taken: Mapping[Place, tuple[str, ...]]) -> None:
    known = taken[place]
    unknown = sorted(set(given) - set(known))
    if not unknown:
        return
    if "sharing" in unknown:
        message = "sharing is an option of workloads; a single query has nothing to share"
        raise refuse(message, "leave it out, or put queries into a trendweave.workload")
    if "rule_columns" in unknown:
        message = "rule_columns is an option of workloads, and a query alone is no rule"
        raise refuse(message, "leave it out, or put queries into a trendweave.workload")
    if place is Place.STORE and set(unknown) <= set(_OF_TIMES):
        message = f"a store already has timestamps; {unknown[0]} is for reading other formats"
        raise refuse(message, f"give it where events come in: EventStore.create(...) and append(..., {unknown[0]}=...)")
    if unknown == ["order_by"]:
        message = "order_by is an option of queries and workloads; pass it to each operator instead"
        raise refuse(message, 'write it where an operator is made, such as ops.window_join(..., order_by="number")')
    on_spark = {*_IN_BATCH, *_ON_STREAMS}
    if set(unknown) <= {"between", "using", "spark"}:
        message = f"only stores take the options {', '.join(unknown)}"
        raise refuse(message, "leave them out, or give the query a trendweave.EventStore")
    if place in (Place.RUN, Place.ITER) and set(unknown) <= on_spark:
        message = f"only Spark DataFrames take the options {', '.join(unknown)}"
        raise refuse(message, "leave them out, or give the query a Spark DataFrame")
    everywhere = [other.value for other in Place if unknown[0] in taken[other] and other is not Place.SCHEMA]
    hint = near_names(unknown[0], known) or f"leave {unknown[0]} out"
    if everywhere:
        hint = f"{unknown[0]} is an option of {' and '.join(everywhere)}"
    raise refuse(f"{place.value} knows the options {', '.join(known)}, not {', '.join(unknown)}", hint)


def _observers(place: Place, options: Mapping[str, Any]) -> tuple[Any, str]:
    """What gets the counts of a batch, and the name of those of a stream."""
    metrics, observation = options.get("metrics"), options.get("observation")
    if place is Place.SPARK_STREAM:
        if metrics is not None and not (isinstance(metrics, str) and metrics):
            message = f"on a stream metrics is a name, not {type(metrics).__name__}"
            raise refuse(message, 'give for example metrics="falling"; counts are in the progress of the query')
        return None, metrics or _DEFAULTS.metrics
    if metrics is not None and not isinstance(metrics, Metrics) and place is not Place.SCHEMA:
        where = "on a DataFrame" if place is Place.SPARK_BATCH else "in this process"
        message = f"{where} metrics is a trendweave.Metrics, not {type(metrics).__name__}"
        hint = "metrics = trendweave.Metrics(); query.run(events, metrics=metrics); a name is for streams"
        raise refuse(message, hint)
    if observation is not None and not hasattr(type(observation), "get"):
        message = f"observation is a pyspark.sql.Observation, not {type(observation).__name__}"
        raise refuse(message, "give an Observation, or metrics=trendweave.Metrics()")
    if metrics is not None and observation is not None:
        raise refuse("metrics and observation are both given", "keep one; metrics counts all that observation does")
    return metrics if metrics is not None else observation, _DEFAULTS.metrics


def _finds_trends(plan: QueryPlan) -> bool:
    trend = plan.trend if isinstance(plan, SituatedPlan) else plan
    return not isinstance(trend, IntervalPlan) and trend.finds_trends


def _detection(plan: QueryPlan, options: Mapping[str, Any]) -> Detection:
    """Options of queries that show trends."""
    if not any(name in options for name in ("memory", "max_trends", "strategy")):
        return _DEFAULTS.detection
    trend = plan.trend if isinstance(plan, SituatedPlan) else plan
    if isinstance(trend, IntervalPlan) or not trend.finds_trends:
        others = "interval queries" if isinstance(trend, IntervalPlan) else "aggregates"
        message = f"memory, max_trends and strategy are for queries that list trends, not for {others}"
        raise refuse(message, "leave them out", "TW414")
    strategy = options.get("strategy")
    if strategy is not None:
        strategy = read_word("strategy", strategy, STRATEGIES)
    if strategy not in (None, "m-cet") and trend.choice is not None:
        message = f"{trend.choice.kind.upper()} walks from event to event (m-cet); it has no other strategy"
        raise refuse(message, "leave strategy out", "TW414")
    if strategy not in (None, "m-cet") and trend.complete and not trend.reduced_graph_is_exact:
        message = "complete trends that need a check at each step have one strategy, m-cet"
        raise refuse(message, "leave strategy out", "TW414")
    return Detection(
        read_memory(options.get("memory", MEMORY)), read_max_trends(options.get("max_trends", MAX_TRENDS)), strategy
    )


def _read_device(place: Place, value: object) -> Device:
    """A device that is there; cards of Spark's tasks are theirs, and tasks have one core unless told otherwise."""
    device = read_word("device", value, DEVICES)
    if device == "auto" and place in _ON_SPARK:
        return "cpu"
    if device == "gpu" and place in _IN_PROCESS:
        from trendweave.gpu.card import find_card

        find_card()
    return device


def _read_buckets(value: object) -> Literal["auto"] | int:
    return "auto" if value == "auto" else read_positive("buckets", value)
