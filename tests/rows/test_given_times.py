"""Times as people have them: numbers since 1970 in some unit, and text."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime

import pyarrow as pa
import pytest

from trendweave.errors import DataError, OptionError
from trendweave.rows.time_parsing import (
    TimeUnit,
    describe_far_future,
    read_column,
    read_format,
    read_texts,
    read_time_options,
    read_type,
    read_value,
    suggest_unit,
)

#: How texts are written, a text, and the time that it tells; None where it tells none.
TEXTS = (
    ("iso", "2024-05-01", datetime(2024, 5, 1)),
    ("iso", "2024-05-01 12", datetime(2024, 5, 1, 12)),
    ("iso", "2024-05-01 12:30", datetime(2024, 5, 1, 12, 30)),
    ("iso", " 2024-05-01T12:30:59,25 ", datetime(2024, 5, 1, 12, 30, 59, 250_000)),
    ("iso", "2024-05-01T12:30:59.123456789Z", datetime(2024, 5, 1, 12, 30, 59, 123_456)),
    ("iso", "2024-05-01T12:30:59+02:00", datetime(2024, 5, 1, 10, 30, 59)),
    ("iso", "2024-05-01T12:30:59 -0330", datetime(2024, 5, 1, 16, 0, 59)),
    ("iso", "2024-02-29T00:00:00z", datetime(2024, 2, 29)),
    ("iso", "1969-12-31T23:59:59.5Z", datetime(1969, 12, 31, 23, 59, 59, 500_000)),
    ("iso", "2023-02-29", None),
    ("iso", "2024-13-01", None),
    ("iso", "2024-05-01T24:00:00", None),
    ("iso", "2024-05-01T23:60:00", None),
    ("iso", "2024-05-01T23:59:60", None),
    ("iso", "2024-05-01T12:30:59+02:70", None),
    ("iso", "yesterday", None),
    ("iso", "", None),
    ("%d.%m.%Y %H:%M", "24.12.2025 18:30", datetime(2025, 12, 24, 18, 30)),
    ("%d.%m.%Y %H:%M", "4.2.2025  8:05", datetime(2025, 2, 4, 8, 5)),
    ("%d.%m.%Y %H:%M", "24x12x2025 18:30", None),
    ("%d.%m.%Y %H:%M", "31.04.2025 18:30", None),
    ("%d/%b/%Y:%H:%M:%S %z", "10/Oct/2000:13:55:36 -0700", datetime(2000, 10, 10, 20, 55, 36)),
    ("%d/%b/%Y:%H:%M:%S %z", "10/Okt/2000:13:55:36 -0700", None),
    ("%B %d, %Y at %I:%M %p", "December 24, 2025 at 12:05 am", datetime(2025, 12, 24, 0, 5)),
    ("%B %d, %Y at %I:%M %p", "MAY 1, 2025 at 12:05 PM", datetime(2025, 5, 1, 12, 5)),
    ("%B %d, %Y at %I:%M %p", "May 1, 2025 at 13:05 pm", None),
    ("%B %d, %Y at %I:%M %p", "May 1, 2025 at 0:05 pm", None),
    ("%m/%d/%y %T.%f", "02/29/68 01:02:03.5", datetime(2068, 2, 29, 1, 2, 3, 500_000)),
    ("%m/%d/%y %T.%f", "02/28/69 01:02:03.000001", datetime(1969, 2, 28, 1, 2, 3, 1)),
    ("%F(%R)%%", "2024-05-01(12:30)%", datetime(2024, 5, 1, 12, 30)),
)


@pytest.mark.parametrize(("written", "text", "moment"), TEXTS)
def test_texts_are_read(written: str, text: str, moment: datetime | None) -> None:
    # A text that is always read stands beside it, so that Arrow's own way of reading one kind is left, too.
    column = pa.chunked_array([pa.array([text, None])])

    found = read_texts(column, read_format(written))

    assert found.type == pa.timestamp("us", "UTC")
    assert found.to_pylist() == [moment and moment.replace(tzinfo=UTC), None]


def test_arrow_and_the_expression_read_the_same_usual_texts() -> None:
    texts = [text for written, text, moment in TEXTS if written == "iso" and moment is not None]
    expected = [moment.replace(tzinfo=UTC) for written, _, moment in TEXTS if written == "iso" and moment is not None]

    one_by_one = [read_texts(pa.chunked_array([[text]]), read_format("ISO"))[0].as_py() for text in texts]
    together = read_texts(pa.chunked_array([texts]), read_format("iso")).to_pylist()

    assert one_by_one == together == expected


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("%d.%m.%Y %Q", "%Q is not known"),
        ("%H:%M", "does not tell the year once"),
        ("%Y-%m", "does not tell the day once"),
        ("%Y-%m-%d %d", "tells the day twice"),
        ("%Y-%m-%d %I:%M", "%I and %p go together"),
        ("%Y-%m-%d %", "% is not known"),
    ],
)
def test_formats_that_are_not_understood(written: str, why: str) -> None:
    with pytest.raises(OptionError, match=re.escape(why)):
        read_format(written)


def test_all_that_a_format_knows_is_named() -> None:
    with pytest.raises(OptionError, match=r"known are %Y %y %m %b %B %d %H %I %p %M %S %f %z %T %F %R %D$"):
        read_format("%d.%m.%Y %Q")


@pytest.mark.parametrize(
    ("kind", "unit", "value", "micros"),
    [
        (pa.int64(), "s", 1_714_566_600, 1_714_566_600_000_000),
        (pa.int64(), "ms", 1_714_566_600_123, 1_714_566_600_123_000),
        (pa.uint64(), "us", 1_714_566_600_123_456, 1_714_566_600_123_456),
        (pa.int64(), "ns", 1_714_566_600_123_456_000, 1_714_566_600_123_456),
        (pa.int32(), "s", -1, -1_000_000),
        (pa.float64(), "s", 1_714_566_600.25, 1_714_566_600_250_000),
        (pa.float64(), "ms", 1_714_566_600_123.456, 1_714_566_600_123_456),
        (pa.float64(), "us", float("nan"), None),
        (pa.dictionary(pa.int8(), pa.int64()), "ms", 5, 5_000),
    ],
    ids=str,
)
def test_numbers_are_read(kind: pa.DataType, unit: str, value: float, micros: int | None) -> None:
    reading = read_time_options(unit, None)
    column = pa.chunked_array([pa.array([value, None], kind)])

    found = read_column(column, "time", reading)

    assert found.type == read_type(kind, "time", reading)
    assert found.cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_pylist() == [micros, None]


@pytest.mark.parametrize(
    ("kind", "unit", "written", "why"),
    [
        (pa.string(), "ms", None, "time_unit is for numbers"),
        (pa.string(), "ms", None, "give time_format instead; of numbers that are text, cast it to a whole number"),
        (pa.decimal128(20, 0), "ms", None, "time_unit is for whole numbers and floats"),
        (pa.decimal128(20, 0), "ms", None, "hint: cast it to a whole number"),
        (pa.decimal128(20, 0), None, "iso", "cast it to a whole number: .*, and give time_unit"),
        (pa.timestamp("us"), "ms", None, "leave time_unit out"),
        (pa.float64(), "ns", None, "cast it to int64"),
        (pa.date32(), "ms", None, "give time_format='iso' instead"),
        (pa.int64(), None, "iso", "give time_unit for numbers since 1970"),
        (pa.float64(), None, "%Y%m%d", "give time_unit for numbers since 1970"),
        (pa.int64(), None, "%d%m%Y", "begin time_format with %Y"),
        (pa.date32(), None, "%Y-%d-%m", "give time_format='iso', which takes dates too"),
        (pa.timestamp("us"), None, "%Y-%d-%m %H:%M", "leave time_format out"),
    ],
    ids=str,
)
def test_columns_that_are_not_read_so(kind: pa.DataType, unit: str | None, written: str | None, why: str) -> None:
    with pytest.raises(DataError, match=why):
        read_type(kind, "time", read_time_options(unit, written))


@pytest.mark.parametrize("text", ["1714566600", "1714566600000", "1714566600.25"])
def test_numbers_that_are_text_are_told_how_to_be_read(text: str) -> None:
    column = pa.chunked_array([pa.array([text])])

    with pytest.raises(
        DataError, match=r"of numbers since 1970 that are text, cast it to a whole number: .* time_unit"
    ):
        read_column(column, "time", read_time_options(None, "iso"))
    with pytest.raises(DataError, match="hint: write '%d"):
        read_column(pa.chunked_array([["20240506"]]), "time", read_time_options(None, "iso"))


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()], ids=str)
def test_dates_are_midnight_of_utc(kind: pa.DataType) -> None:
    iso, day = read_time_options(None, "iso"), date(2024, 5, 6)

    found = read_column(pa.chunked_array([pa.array([day, None], pa.date32()).cast(kind)]), "time", iso)

    assert found.type == read_type(kind, "time", iso) == pa.timestamp("us", "UTC")
    assert found.to_pylist() == [datetime(2024, 5, 6, tzinfo=UTC), None]
    assert read_value(day, pa.date32(), "time", iso) == 1_714_953_600_000_000


@pytest.mark.parametrize("kind", [pa.timestamp("s"), pa.timestamp("ns", "Europe/Berlin")], ids=str)
def test_timestamps_stay_where_the_usual_way_is_asked_for(kind: pa.DataType) -> None:
    iso = read_time_options(None, "iso")
    column = pa.chunked_array([pa.array([0, None], kind)])

    assert read_type(kind, "time", iso) == kind
    assert read_column(column, "time", iso) is column
    assert read_value(datetime(1970, 1, 1, tzinfo=UTC), pa.timestamp("s", "UTC"), "time", iso) == 0


def test_whole_numbers_are_read_as_they_are_written() -> None:
    reading = read_time_options(None, "%Y%m%d%H%M%S")
    column = pa.chunked_array([pa.array([20240506140000, 20241399000000, -20240506140000, None])])

    found = read_column(column, "time", reading)

    assert found.to_pylist() == [datetime(2024, 5, 6, 14, tzinfo=UTC), None, None, None]
    assert read_value(20240506140000, pa.int64(), "time", reading) == 1_715_004_000_000_000


def test_numbers_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DataError, match="out of range"):
        read_column(pa.chunked_array([pa.array([2**63], pa.uint64())]), "time", read_time_options("ms", None))
    with pytest.raises(DataError, match="out of range"):
        read_column(pa.chunked_array([[1e17]]), "time", read_time_options("s", None))


def test_no_text_fits_is_an_error_that_shows_one() -> None:
    with pytest.raises(DataError, match=r"the first is '24\.12\.2025'"):
        read_column(pa.chunked_array([[None, "24.12.2025"]]), "time", read_time_options(None, "iso"))


def test_some_texts_do_not_fit_is_a_warning_that_shows_one(caplog: pytest.LogCaptureFixture) -> None:
    found = read_column(pa.chunked_array([["2024-05-01", "soon", "later"]]), "time", read_time_options(None, "iso"))

    assert found.null_count == 2
    assert caplog.messages == ["2 texts of time do not have the time_format; the first is 'soon'"]


@pytest.mark.parametrize("options", [("minutes", None), ("ms", "iso"), (None, 3)], ids=str)
def test_options_that_are_not_understood(options: tuple[object, object]) -> None:
    with pytest.raises(OptionError):
        read_time_options(*options)


def test_one_value_is_read_as_a_column_is() -> None:
    iso, floats = read_time_options(None, "iso"), read_time_options("ms", None)

    assert read_value("1970-01-01T00:00:01Z", pa.string(), "time", iso) == 1_000_000
    assert read_value("soon", pa.string(), "time", iso) is None
    assert read_value(1.5, pa.float64(), "time", floats) == 1_500
    assert read_value(15, pa.int64(), "time", floats) == 15
    with pytest.raises(DataError):
        read_value(15, pa.string(), "time", iso)


@pytest.mark.parametrize(("latest", "unit"), [(1.7e12, "ms"), (1.7e15, "us"), (1.7e18, "ns"), (9e18, "ns")])
def test_the_unit_of_a_far_time_is_guessed(latest: float, unit: str) -> None:
    assert f"give time_unit='{unit}'" in suggest_unit(latest)


@pytest.mark.parametrize(
    ("kind", "unit", "value", "told"),
    [
        (
            pa.int64(),
            "s",
            8 * 10**9,
            "taken for seconds since 1970, and 8000000000 lies beyond the year 2200; give time_unit='ms'",
        ),
        (pa.int64(), "ms", 8 * 10**12, "taken for milliseconds since 1970, and 8000000000000 lies beyond"),
        (pa.float64(), "ms", 8e12, "and 8000000000000 lies beyond the year 2200; give time_unit='us'"),
        (pa.int64(), "us", 8 * 10**15, "give time_unit='ns' if they are nanoseconds"),
        (pa.int64(), "ns", 8 * 10**18, "beyond the year 2200; remove broken times"),
        (pa.int64(), "ms", 7 * 10**12, ""),
    ],
    ids=str,
)
def test_far_times_of_every_unit_are_told(kind: pa.DataType, unit: TimeUnit, value: float, told: str) -> None:
    read = read_column(pa.chunked_array([pa.array([0, value], kind)]), "time", read_time_options(unit, None))

    text = describe_far_future(read, "time", unit)

    assert told in text if told else not text
    assert not describe_far_future(read, "time"), "they came as timestamps"


@pytest.mark.parametrize(
    ("kind", "unit", "value", "why"),
    [
        (pa.int64(), "s", 1_714_566_600_123, "1714566600123 lies beyond the year 9999\n.*give time_unit='ms'"),
        (pa.float64(), "s", 1_714_566_600_123.5, "1714566600123.5 lies beyond the year 9999"),
        (pa.int64(), "ms", 253_402_300_800_000, "beyond the year 9999"),
        (pa.int64(), "s", -62_135_596_801, "-62135596801 lies before the year 1"),
    ],
    ids=str,
)
def test_years_that_are_not_written_are_refused(kind: pa.DataType, unit: str, value: float, why: str) -> None:
    reading = read_time_options(unit, None)

    with pytest.raises(DataError, match=why):
        read_column(pa.chunked_array([pa.array([0, value, None], kind)]), "time", reading)
    with pytest.raises(DataError, match=why):
        read_value(value, kind, "time", reading)


def test_the_first_and_the_last_year_are_read() -> None:
    ends = [-62_135_596_800, 253_402_300_799]

    read = read_column(pa.chunked_array([pa.array(ends)]), "time", read_time_options("s", None))

    assert [moment.year for moment in read.to_pylist()] == [1, 9999]
