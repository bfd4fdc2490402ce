"""Two small extracts of real data; samples/README.md says where they come from."""

from __future__ import annotations

from importlib.resources import files

import pyarrow as pa
import pyarrow.parquet as pq


def sample_flights() -> pa.Table:
    """Two weeks of flights out of New York, 4 to 17 February 2013, with a blizzard on the 8th and 9th.

    `time` is the scheduled departure. A Cancellation has no delays, and often no tail number; a Departure without
    arr_delay was diverted. Delays are in minutes, negative when early.
    """
    return _read("flights.parquet")


def sample_aircraft() -> pa.Table:
    """20 aircraft that land in and around Paris on 7 October 2021, one Position per aircraft and second.

    Altitude is in feet, groundspeed in knots, vertical_rate in feet per minute; NULL where nothing was received.
    """
    return _read("aircraft.parquet")


def _read(name: str) -> pa.Table:
    buffer = pa.BufferReader(files("trendweave.datasets").joinpath("samples", name).read_bytes())
    # With threads, a short script that reads from memory sometimes aborts when it exits: apache/arrow#34314, #33975.
    return pq.ParquetFile(buffer).read(use_threads=False)
