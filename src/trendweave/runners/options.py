"""The options of every host: their names, values and defaults.

Arguments win over the session's `spark.trendweave.*`, and those over defaults. A wrong one is an error before anything
runs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from trendweave.devices.names import DEVICES, Device
from trendweave.errors import TrendweaveError, near_names, raise_together
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.situated_plan import QueryPlan, SituatedPlan
from trendweave.programs.trends.detection import (
    STRATEGIES,
    Detection,
    Limits,
    Strategy,
    Wishes,
)
from trendweave.results.types import NUMBERS, Numbers
from trendweave.rows.time_parsing import AS_THEY_ARE, TimeReading, TimeUnit, read_time_options
from trendweave.runners.metrics import Metrics
from trendweave.runners.option_values import (
    check_order,
    one_of,
    read_between,
    read_buckets,
    read_bytes,
    read_chunks,
    read_flag,
    read_max_trends,
    read_memory,
    read_order,
    read_positive,
    read_watermark,
    read_word,
    refuse,
    setting_of,
)
from trendweave.runners.place import Place

if TYPE_CHECKING:
    from pyspark.sql import Observation, SparkSession

#: Whether what queries have in common is computed once, for each burst of events: as it pays, always, or never.
Sharing: TypeAlias = Literal["auto", "always", "never"]
SHARING: tuple[Sharing, ...] = ("auto", "always", "never")
#: Values of the deprecated option `exchange`: tasks always pack rows into columns.
Exchange: TypeAlias = Literal["auto", "columns", "rows"]
EXCHANGES: tuple[Exchange, ...] = ("auto", "columns", "rows")
#: How a store is read: as it costs least, by its indexes, or all of it.
Using: TypeAlias = Literal["auto", "index", "replay"]
USING: tuple[Using, ...] = ("auto", "index", "replay")


#: What a rule has besides its query, and rows may have.
RuleColumn: TypeAlias = Literal["version", "description"]
RULE_COLUMNS: tuple[RuleColumn, ...] = ("version", "description")
#: Whose options they are.
Asked: TypeAlias = Literal["query", "workload", "operators"]


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
    """A pattern that needs more work is refused: transitions of its template times events times states (or times events
    once more, if these are fewer); 2 x 10^10 unless given. Templates with at most 10,000 states times transitions are
    not counted. Everywhere."""
    strategy: Strategy | None
    """The algorithm that lists trends: "m-cet" walks with one trend in memory, "t-cet" stores all prefixes of trends,
    "h-cet" joins partial trends of time ranges, "baseline" extends every trend by every event. "m-cet" by default.
    Every host.
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
    the one that suits the work and the number of events. The rows are the same. Every host.
    """
    chunks: str | None
    """The length of time chunks, such as "2 hours", or "auto" (the default), or "off". Spark batch."""
    exchange: Exchange | None
    """Deprecated: tasks always shuffle packed columns. Spark batch."""
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


def _as_it_is(name: str, value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Option:
    """What there is to know of an option besides its type and what it does, which stands in `Options`.

    Attributes:
        places: Where queries take it.
        read: Checks a value, by the option's name; settings of a session are text.
        setting: Whether a session can set it, see `setting_of`.
        workloads: Where workloads take it; None: where queries do.
        operators: Where operators take it; None: where queries do.
    """

    places: frozenset[Place] = frozenset()
    read: Callable[[str, Any], Any] = _as_it_is
    setting: bool = False
    workloads: frozenset[Place] | None = None
    operators: frozenset[Place] | None = None


#: Places that compute in this process, and those on Spark. `schema` takes what some place takes that has tables.
_IN_PROCESS = frozenset({Place.RUN, Place.ITER, Place.INCREMENTAL, Place.PUSH})
_ON_SPARK = frozenset({Place.SPARK_BATCH, Place.SPARK_STREAM})
_ALL = frozenset(Place)
_BATCH = frozenset({Place.SPARK_BATCH, Place.SCHEMA})
_STREAMS = frozenset({Place.SPARK_STREAM, Place.SCHEMA})
_STORES = frozenset({Place.STORE, Place.SCHEMA})
_FINITE = _BATCH | _STORES | {Place.RUN, Place.ITER}
_NOWHERE = frozenset[Place]()


def read_exchange(name: str, value: object) -> Exchange:
    """Once the shuffle format; packed columns are the only one now."""
    if (found := read_word(name, value, EXCHANGES)) == "rows":
        message = 'exchange="rows" has no effect any longer: tasks always shuffle packed columns; leave exchange out'
        warnings.warn(message, DeprecationWarning, stacklevel=2)
    return found


def read_rule_columns(name: str, value: Any) -> tuple[RuleColumn, ...]:
    """Each once, in the order in which they were given."""
    given = (value,) if isinstance(value, str) or not isinstance(value, Iterable) else value
    return tuple(dict.fromkeys(read_word(name, one, RULE_COLUMNS) for one in given))


#: All options, in the order in which they are told.
OPTIONS: dict[str, Option] = {
    "numbers": Option(_ALL, one_of(NUMBERS), setting=True),
    "memory": Option(_ALL, read_memory),
    "max_trends": Option(_ALL, read_max_trends),
    "max_rows": Option(_ALL, read_positive, setting=True),
    "max_work": Option(_ALL, read_positive, setting=True),
    "strategy": Option(_ALL, one_of(STRATEGIES)),
    "device": Option(_ALL, one_of(DEVICES), setting=True),
    # An operator is given its own where it is made.
    "order_by": Option(_ALL, read_order, operators=_NOWHERE),
    "time_unit": Option(_ALL - {Place.STORE}),
    "time_format": Option(_ALL - {Place.STORE}),
    "progress": Option(_FINITE, read_flag),
    # Operators are run one by one on DataFrames, and what each of them counts would be told as one.
    "metrics": Option(_FINITE | _STREAMS, workloads=_ALL, operators=frozenset({Place.SPARK_STREAM})),
    "observation": Option(_BATCH, operators=_NOWHERE),
    "chunks": Option(_BATCH, read_chunks, setting=True),
    "exchange": Option(_BATCH, read_exchange, setting=True),
    "rows_at_once": Option(_BATCH, read_positive, setting=True),
    "max_rows_of_a_key": Option(_BATCH, read_positive, setting=True),
    "bytes_in_memory": Option(_BATCH, read_positive, setting=True),
    "buckets": Option(_STREAMS, read_buckets, setting=True),
    "watermark": Option(_STREAMS | {Place.PUSH}, read_watermark),
    "early": Option(_STREAMS, read_flag),
    "late_rows": Option(_STREAMS, read_flag),
    "state": Option(frozenset({Place.PUSH}), read_bytes),
    "between": Option(_STORES, read_between),
    "using": Option(_STORES, one_of(USING)),
    "spark": Option(_STORES),
    "sharing": Option(workloads=_ALL, read=one_of(SHARING)),
    "rule_columns": Option(workloads=_ALL, read=read_rule_columns),
}


def _taken(place: Place, asked: Asked) -> tuple[str, ...]:
    """The options of a place."""
    found = []
    for name, option in OPTIONS.items():
        own = {"query": None, "workload": option.workloads, "operators": option.operators}[asked]
        if place in (option.places if own is None else own):
            found.append(name)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Settings(Wishes):
    """All options of a run, checked, with defaults where nothing was given.

    `chunks` is "auto", "off", or the length of a chunk of time in nanoseconds. `metrics` is the name of counts on a
    stream, `observation` what gets them elsewhere.
    """

    chunks: Literal["auto", "off"] | int = "auto"
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
#: Options that are one value of the settings together.
_OF_LISTS, _OF_LIMITS, _OF_TIMES = (
    ("memory", "max_trends", "strategy"),
    ("max_rows", "max_work"),
    ("time_unit", "time_format"),
)


ReadSetting: TypeAlias = Callable[[str], str | None]


def make_settings(
    plans: QueryPlan | Mapping[str, QueryPlan],
    place: Place,
    given: Mapping[str, Any],
    read_setting: ReadSetting | None = None,
    asked: Asked = "query",
) -> Settings:
    """Check the options of a call and fill in what was not given.

    Args:
        plans: The plan of the query, as some options only go with some queries; those of the queries of a workload, or
            among operators, by name. What is for queries that look for trends, or show them, counts for those that do.
        place: Where it is to run.
        given: The keyword arguments of the call.
        read_setting: Gives the value of a setting of the Spark session by its full name, None where it is not set.
            None outside of Spark.
        asked: What is to run.

    Raises:
        OptionError: An option is not known here, has a value that it cannot have, or does not go with the queries.
    """
    options = _find_options(place, given, read_setting, asked)
    named = plans if isinstance(plans, Mapping) else {"": plans}
    if "order_by" in options:
        check_order(named.values())
    observation, metrics = _observers(place, options)
    apart = (*_OF_LISTS, *_OF_LIMITS, *_OF_TIMES, "metrics", "observation", "device", "exchange")
    return Settings(
        **{name: value for name, value in options.items() if name not in apart},
        detection=_find_detection(named, options, asked),
        limits=Limits(**{name: options[name] for name in _OF_LIMITS if name in options}),
        times=read_time_options(options.get("time_unit"), options.get("time_format")),
        device=_find_device(place, options.get("device", _DEFAULTS.device)),
        metrics=metrics,
        observation=observation,
    )


def _find_options(
    place: Place, given: Mapping[str, Any], read_setting: ReadSetting | None, asked: Asked
) -> dict[str, Any]:
    """Options that have a value, from the call or from the session, checked one by one."""
    known = _taken(place, asked)
    _check_names(given, place, asked, known)
    options = {name: value for name, value in given.items() if value is not None}
    if read_setting is not None:
        # The columns of a result depend on one of them, and what is told of a run on the other.
        settled = ("numbers", "device") if place is Place.SCHEMA else known
        for name in settled:
            if OPTIONS[name].setting and name not in options and (value := read_setting(setting_of(name))):
                options[name] = value
    return {name: option.read(name, options[name]) for name, option in OPTIONS.items() if name in options}


def read_numbers(options: Mapping[str, Any]) -> Numbers:
    """How counts and sums are written, as options say.

    Raises:
        OptionError: It is none of the known ways.
    """
    return read_word("numbers", options.get("numbers", _DEFAULTS.numbers), NUMBERS)


def _check_names(given: Mapping[str, Any], place: Place, asked: Asked, known: tuple[str, ...]) -> None:
    unknown = sorted(set(given) - set(known))
    if not unknown:
        return
    for name, why in (
        ("sharing", "; a single query has nothing to share"),
        ("rule_columns", ", and a query alone is no rule"),
    ):
        if name in unknown:
            hint = "leave it out, or put queries into a trendweave.workload"
            raise refuse(f"{name} is an option of workloads{why}", hint)
    if place is Place.STORE and set(unknown) <= set(_OF_TIMES):
        message = f"a store already has timestamps; {unknown[0]} is for reading other formats"
        raise refuse(message, f"give it where events come in: EventStore.create(...) and append(..., {unknown[0]}=...)")
    if unknown == ["order_by"]:
        message = "order_by is an option of queries and workloads; pass it to each operator instead"
        raise refuse(message, 'write it where an operator is made, such as ops.window_join(..., order_by="number")')
    if set(unknown) <= {"between", "using", "spark"}:
        message = f"only stores take the options {', '.join(unknown)}"
        raise refuse(message, "leave them out, or give the query a trendweave.EventStore")
    if (
        place in (Place.RUN, Place.ITER)
        and all(Place.SPARK_BATCH in OPTIONS[name].places for name in unknown if name in OPTIONS)
        and set(unknown) <= set(OPTIONS)
    ):
        message = f"only Spark DataFrames take the options {', '.join(unknown)}"
        raise refuse(message, "leave them out, or give the query a Spark DataFrame")
    everywhere = [other.value for other in Place if unknown[0] in _taken(other, asked) and other is not Place.SCHEMA]
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


def _find_detection(plans: Mapping[str, QueryPlan], options: Mapping[str, Any], asked: Asked) -> Detection:
    """Options of queries that show trends; they suit all that do."""
    given = {name: options[name] for name in _OF_LISTS if name in options}
    if not given:
        return _DEFAULTS.detection
    finding = {name: plan for name, plan in plans.items() if _finds_trends(plan)}
    if not finding and asked == "operators":
        raise _refuse_lists("other operators")
    errors = list[TrendweaveError]()
    for name, plan in (finding or plans).items():
        try:
            _check_lists(plan, given.get("strategy"))
        except TrendweaveError as error:
            errors.append(error.about(name) if asked == "workload" else error)
    raise_together(errors)
    return Detection(**given)


def _check_lists(plan: QueryPlan, strategy: Strategy | None) -> None:
    trend = plan.trend if isinstance(plan, SituatedPlan) else plan
    if isinstance(trend, IntervalPlan) or not trend.finds_trends:
        raise _refuse_lists("interval queries" if isinstance(trend, IntervalPlan) else "aggregates")
    if strategy in (None, "m-cet"):
        return
    if trend.choice is not None:
        message = f"{trend.choice.kind.upper()} walks from event to event (m-cet); it has no other strategy"
        raise refuse(message, "leave strategy out", "TW414")
    if trend.complete and not trend.reduced_graph_is_exact:
        message = "complete trends that need a check at each step have one strategy, m-cet"
        raise refuse(message, "leave strategy out", "TW414")


def _refuse_lists(others: str) -> TrendweaveError:
    message = f"memory, max_trends and strategy are for queries that list trends, not for {others}"
    return refuse(message, "leave them out", "TW414")


def _find_device(place: Place, device: Device) -> Device:
    """A device that is there; cards of Spark's tasks are theirs, and tasks have one core unless told otherwise."""
    if device == "auto" and place in _ON_SPARK:
        return "cpu"
    if device == "gpu" and place in _IN_PROCESS:
        from trendweave.gpu.card import find_card

        find_card()
    return device
