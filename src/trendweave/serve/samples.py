"""What a page offers: samples of events, a query or two for each of them, and the words of the language, by which it
highlights and completes; they are taken from where the language keeps them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from trendweave.language.durations import UNITS
from trendweave.language.functions import CAST_TYPES, EACH_AGGREGATES, SCALAR_FUNCTIONS, STRATEGIES
from trendweave.language.interval_tree import RELATIONS


@dataclass(frozen=True, slots=True)
class Example:
    """A query that runs on a sample."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Sample:
    """Events of `trendweave.datasets`; `events` is 0 where their number is given."""

    name: str
    title: str
    events: int
    examples: tuple[Example, ...]


_FALLING = """RETURN sector, COUNT(*) AS trends, MIN(S.price) AS low
PATTERN Stock S+
WHERE [company, sector] AND S.price > NEXT(S).price
GROUP-BY sector
WITHIN 1 minute SLIDE 30 seconds"""
_RISING = """RETURN sector, COUNT(*) AS trends, MAX(S.price) AS high
PATTERN Stock S+
WHERE [company, sector] AND S.price < NEXT(S).price
GROUP-BY sector
WITHIN 1 minute SLIDE 30 seconds"""
_LONG_FALLS = """RETURN TRENDS(S.price)
PATTERN Stock S{4,}
SEMANTICS contiguous
WHERE [company] AND S.price > NEXT(S).price
WITHIN 1 minute SLIDE 1 minute
LONGEST 3"""
_CARTS = """RETURN country, COUNT(*) AS carts, AVG(A.price) AS mean
PATTERN SEQ(AddToCart A+, NOT Pay P, Leave L)
WHERE [visitor, country]
GROUP-BY country
WITHIN 5 minutes SLIDE 1 minute"""
_FAILED = """RETURN EACH F.visitor, COUNT(F) AS failures
PATTERN LoginFailed F{2,4}
SEMANTICS skip-till-next-match
WHERE [visitor]
WITHIN 5 minutes
AFTER MATCH SKIP PAST LAST EVENT"""
_RIDES = """RETURN district, COUNT(*) AS trips, COUNT(T) AS steps
PATTERN SEQ(Pickup P, Travel T+, Dropoff D)
WHERE [driver, rider, district]
GROUP-BY district
WITHIN 1 minute SLIDE 30 seconds"""
_SLOWER = """RETURN segment, COUNT(*) AS trends, MIN(P.speed) AS slowest
PATTERN Position P{3,}
WHERE [vehicle, segment] AND P.speed > NEXT(P).speed
GROUP-BY segment
WITHIN 10 minutes SLIDE 5 minutes"""
_LOAD = """RETURN mapper, COUNT(*) AS trends, MAX(M.load) AS peak
PATTERN SEQ(Start S, Measurement M+, End E)
WHERE [job, mapper] AND M.load < NEXT(M).load
GROUP-BY mapper
WITHIN 1 minute SLIDE 30 seconds"""
_KITING = """RETURN COUNT(*) AS chains
PATTERN Check C{3,}
WHERE C.destination = NEXT(C).source AND C.status = 'notcovered'
WITHIN 10 seconds SLIDE 10 seconds"""
_DELAYS = """RETURN origin, COUNT(*) AS trends, COUNT(D) AS flights, MAX(D.dep_delay) AS worst
PATTERN Departure D{3,}
WHERE [origin, carrier] AND D.dep_delay >= 15 AND D.dep_delay < NEXT(D).dep_delay
GROUP-BY origin
WITHIN 1 day SLIDE 1 day"""
_DESCENT = """FROM Position PARTITION BY icao24
DEFINE Low AS altitude < 10000 AT LEAST 2 minutes, Sinking AS vertical_rate < -1000 AT LEAST 1 minute
PATTERN Sinking overlaps; meets; before Low
WITHIN 20 minutes
RETURN icao24, MIN(Low.altitude) AS lowest"""

SAMPLES = (
    Sample(
        "stock",
        "Stock prices (generated)",
        20_000,
        (
            Example("falling prices", _FALLING),
            Example("rising prices", _RISING),
            Example("the longest falls", _LONG_FALLS),
        ),
    ),
    Sample(
        "web_clicks",
        "Clicks in a shop (generated)",
        20_000,
        (Example("carts left behind", _CARTS), Example("failed logins", _FAILED)),
    ),
    Sample("ride_sharing", "Ride sharing (generated)", 20_000, (Example("trips per district", _RIDES),)),
    Sample("traffic", "Cars on a road (generated)", 20_000, (Example("cars that slow down", _SLOWER),)),
    Sample("cluster", "A cluster at work (generated)", 20_000, (Example("load that grows", _LOAD),)),
    Sample("check_deposits", "Deposits of checks (generated)", 5_000, (Example("chains of checks", _KITING),)),
    Sample("sample_flights", "Departures from New York, 2013", 0, (Example("delays that grow", _DELAYS),)),
    Sample("sample_aircraft", "Aircraft around Toulouse, 2021", 0, (Example("descents", _DESCENT),)),
)


def list_samples() -> list[dict[str, Any]]:
    """All samples as a page takes them."""
    return [asdict(sample) for sample in SAMPLES]


#: Words that begin clauses, as a page offers them.
CLAUSES = (
    *("RETURN", "RETURN EACH", "RETURN TRENDS", "RETURN ROWS", "RETURN COMPLETE TRENDS", "RETURN SITUATIONS"),
    *("PATTERN", "SEMANTICS", "WHERE", "GROUP-BY", "WITHIN", "WITHIN SESSION", "SLIDE", "HAVING", "ORDER BY"),
    *("LIMIT", "LONGEST", "SHORTEST", "SAMPLE", "LONGEST PER START"),
    *("AFTER MATCH SKIP PAST LAST EVENT", "AFTER MATCH SKIP TO NEXT ROW"),
    *("AFTER MATCH SKIP TO FIRST", "AFTER MATCH SKIP TO LAST"),
    *("FROM", "FROM INTERVALS", "PARTITION BY", "DEFINE", "DETECT AT END", "EVERY"),
)
#: Words inside clauses.
WITHIN_CLAUSES = (
    *("SEQ", "AND", "OR", "NOT", "AS", "NEXT", "PREV", "IN", "BETWEEN", "IS", "NULL", "LIKE", "RLIKE", "TRUE", "FALSE"),
    *("CASE", "WHEN", "THEN", "ELSE", "END"),
    *("DISTINCT", "CAST", "TIMESTAMP", "DATE", "INTERVAL", "ASC", "DESC", "SEED", "DURING", "AT", "LEAST", "MOST"),
)


def list_words() -> dict[str, Any]:
    """Lists of words by what they are."""
    plural = sorted({unit for unit in UNITS if len(unit) > 4 and unit.endswith("s")})
    return {
        "clauses": list(CLAUSES),
        "words": list(WITHIN_CLAUSES),
        "aggregates": list(EACH_AGGREGATES),
        "functions": sorted(SCALAR_FUNCTIONS),
        "strategies": list(STRATEGIES),
        "relations": list(RELATIONS),
        "types": sorted(set(CAST_TYPES)),
        "units": sorted(UNITS),
        "shown_units": plural,
    }
