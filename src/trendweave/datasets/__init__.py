"""Sample data: seeded generators like those of the papers, and two small extracts of real data.

Every function returns a pyarrow Table, sorted by time, with the columns `time` and `type` and the attributes of its
events. Generators give the same table for the same arguments; `time="seconds"` makes `time` a whole number of seconds
since the stream began instead of a timestamp.

>>> from trendweave import datasets
>>> datasets.stock(3, seed=1, companies=2, time="seconds").select(["time", "type", "company"]).to_pylist()[2]
{'time': 1, 'type': 'Stock', 'company': 0}
"""

from trendweave.datasets.check_deposits import check_deposits
from trendweave.datasets.cluster import cluster
from trendweave.datasets.ride_sharing import ride_sharing
from trendweave.datasets.sample_extracts import sample_aircraft, sample_flights
from trendweave.datasets.stock import stock
from trendweave.datasets.traffic import traffic
from trendweave.datasets.web_clicks import web_clicks

__all__ = [
    "check_deposits",
    "cluster",
    "ride_sharing",
    "sample_aircraft",
    "sample_flights",
    "stock",
    "traffic",
    "web_clicks",
]
