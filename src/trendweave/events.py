"""Any table seen as events: which columns are time and type, and what kinds of values the others hold.

Kinds are coarse on purpose. They decide what a query may do with a column; how wide a number is matters only to the
engine that stores it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, TypeAlias

from trendweave.errors import DataError, OptionError, Problem, near_names


class Auto(Enum):
    """Stands for what is decided where it is known."""

    AUTO = "auto"


#: The default of `type`: the column `type` for queries that look for trends, no column for interval queries; of a
#: store, the column `type` if there is one.
AUTO: Final = Auto.AUTO
TypeColumn: TypeAlias = "str | Auto | None"


def check_column_names(time: object, type_: object) -> None:
    """Raise an OptionError where what is to name the column of the time or of the type is no name."""
    hint = 'name a column, such as {0}="{0}"'
    problems = (
        [] if isinstance(time, str) else [Problem("TW408", f"time names a column, not {time!r}", hint.format("time"))]
    )
    if not (type_ is None or type_ is AUTO or isinstance(type_, str)):
        hint += ", or give type=None where all rows are of one type"
        problems.append(Problem("TW408", f"type names a column, not {type_!r}", hint.format("type")))
    if problems:
        raise OptionError(problems)


class Kind(Enum):
    """What a query may do with a column; the value is how errors write it."""

    BOOLEAN = "a boolean"
    INTEGER = "a whole number"
    FLOAT = "a float"
    DECIMAL = "a decimal"
    STRING = "a string"
    TIMESTAMP = "a timestamp"
    DATE = "a date"
    DURATION = "a duration"
    BINARY = "binary"
    STRUCT = "a struct"
    COLLECTION = "a list or map"
    NULL = "NULL"
    OTHER = "of another type"


@dataclass(frozen=True, slots=True)
class ColumnType:
    """The kind of a column; of a struct, also its fields; of a timestamp, as far as it is known, also the nanoseconds
    in one of its unit, and whether it has a zone."""

    kind: Kind
    fields: tuple[tuple[str, ColumnType], ...] = ()
    step: int | None = None
    zoned: bool | None = None


Schema = dict[str, ColumnType]
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def schema_of(source: Any) -> Schema:
    """Read which columns there are, and of which kinds.

    Args:
        source: An Arrow schema, anything that has one (tables, readers, pandas and polars frames), a Spark schema or
            DataFrame, or a mapping from names to Arrow types, type names or what this function gave.

    Returns:
        The columns by name.

    Raises:
        DataError: There is no schema in it, or it has a type that is not known.
    """
    if isinstance(source, Mapping):
        return {str(name): _named_type(name, value) for name, value in source.items()}
    # A DataFrame of Spark Connect has an attribute of every name, so its schema is looked for first.
    if hasattr(getattr(source, "schema", None), "jsonValue"):
        return _spark_schema(source.schema.jsonValue())
    if hasattr(source, "jsonValue"):
        return _spark_schema(source.jsonValue())
    return {field.name: _arrow_type(field.type) for field in _arrow_schema(source)}


def find_column(schema: Schema, path: tuple[str, ...]) -> ColumnType | Problem:
    """Find a column, possibly inside structs.

    Args:
        schema: The columns by name.
        path: The name of the column, behind those of the structs that it lies in.

    Returns:
        Its type; what is wrong where there is no such column.
    """
    known = schema
    for index, name in enumerate(path):
        if name not in known:
            where = f" in {'.'.join(path[:index])}" if index else ""
            hint = near_names(name, known) or f"the columns are {', '.join(list(known)[:12]) or '(none)'}"
            return Problem("TW301", f"unknown column {name}{where}", hint)
        found = known[name]
        known = dict(found.fields)
    return found


def _arrow_schema(source: Any) -> Any:
    import pyarrow as pa

    if isinstance(source, pa.Schema):
        return source
    if isinstance(getattr(source, "schema", None), pa.Schema):
        return source.schema
    try:
        if type(source).__module__.split(".")[0] == "pandas":
            return pa.Schema.from_pandas(source, preserve_index=False)
        if hasattr(source, "__arrow_c_schema__"):
            return pa.schema(source)
        if hasattr(source, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(source).schema
    except (pa.ArrowException, TypeError) as error:
        raise DataError(
            [Problem("TW308", f"the schema cannot be read: {error}", "convert it to an Arrow table")]
        ) from error
    message = f"a schema cannot be read from {type(source).__name__}"
    hint = "pass an Arrow schema or table, a pandas frame, a Spark DataFrame, or a dictionary of names and types"
    raise DataError([Problem("TW308", message, hint)])


def _arrow_type(arrow: Any) -> ColumnType:
    import pyarrow.types as t

    if t.is_dictionary(arrow):
        return _arrow_type(arrow.value_type)
    if t.is_timestamp(arrow):
        return ColumnType(Kind.TIMESTAMP, step=_NANOSECONDS[arrow.unit], zoned=arrow.tz is not None)
    if t.is_struct(arrow):
        return ColumnType(Kind.STRUCT, tuple((field.name, _arrow_type(field.type)) for field in arrow))
    tests = (
        (t.is_boolean, Kind.BOOLEAN),
        (t.is_integer, Kind.INTEGER),
        (t.is_floating, Kind.FLOAT),
        (t.is_decimal, Kind.DECIMAL),
        (lambda a: t.is_string(a) or t.is_large_string(a) or t.is_string_view(a), Kind.STRING),
        (t.is_date, Kind.DATE),
        (t.is_duration, Kind.DURATION),
        (lambda a: t.is_binary(a) or t.is_large_binary(a) or t.is_fixed_size_binary(a), Kind.BINARY),
        (t.is_nested, Kind.COLLECTION),
        (t.is_null, Kind.NULL),
    )
    return ColumnType(next((kind for test, kind in tests if test(arrow)), Kind.OTHER))


#: Names of types as Arrow and Spark write them, without their parameters.
_NAMED = {
    Kind.BOOLEAN: "bool boolean",
    Kind.INTEGER: "int integer long bigint short smallint byte tinyint int8 int16 int32 int64 "
    "uint8 uint16 uint32 uint64",
    Kind.FLOAT: "float double float16 float32 float64 halffloat real",
    Kind.DECIMAL: "decimal decimal128 decimal256",
    Kind.STRING: "string str large_string utf8 varchar char",
    Kind.TIMESTAMP: "timestamp timestamp_ntz timestamp_ltz datetime",
    Kind.DATE: "date date32 date64",
    Kind.DURATION: "duration interval",
    Kind.BINARY: "binary large_binary",
    Kind.COLLECTION: "array list map",
    Kind.NULL: "null void",
}
_KIND_OF_NAME = {name: kind for kind, names in _NAMED.items() for name in names.split()}


def _named_type(column: object, value: Any) -> ColumnType:
    if isinstance(value, ColumnType):
        return value
    if not isinstance(value, str):
        import pyarrow as pa

        if isinstance(value, pa.DataType):
            return _arrow_type(value)
        value = getattr(value, "name", type(value).__name__)
    name = str(value).lower().split("(")[0].split("[")[0].split("<")[0].split()[0]
    if name not in _KIND_OF_NAME:
        message = f"the type {value} of column {column} is not known"
        raise DataError([Problem("TW308", message, "use names such as double, bigint, string, timestamp")])
    unit = str(value).partition("[")[2].rstrip("]").split(",")[0].strip()
    return ColumnType(_KIND_OF_NAME[name], step=_NANOSECONDS.get(unit) if name == "timestamp" else None)


def _spark_schema(json: dict[str, Any]) -> Schema:
    """From the JSON form of a Spark schema, so that this module needs no pyspark."""
    return {field["name"]: _spark_type(field["type"]) for field in json["fields"]}


def _spark_type(json: Any) -> ColumnType:
    if isinstance(json, dict):
        if json["type"] == "struct":
            return ColumnType(
                Kind.STRUCT, tuple((field["name"], _spark_type(field["type"])) for field in json["fields"])
            )
        return ColumnType(Kind.COLLECTION if json["type"] in ("array", "map") else Kind.OTHER)
    name = str(json).lower().split("(")[0].split()[0]
    kind = _KIND_OF_NAME.get(name, Kind.OTHER)
    if kind is not Kind.TIMESTAMP:
        return ColumnType(kind)
    return ColumnType(kind, step=_NANOSECONDS["us"], zoned=name != "timestamp_ntz")
