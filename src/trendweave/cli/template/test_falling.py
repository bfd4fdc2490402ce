"""The query gives the rows that were counted by hand."""

import unittest
from pathlib import Path

import pyarrow.csv

import trendweave

HERE = Path(__file__).parent


class FallingPrices(unittest.TestCase):
    def test_the_day(self) -> None:
        query = trendweave.query((HERE / "falling.tw").read_text(encoding="utf-8"))
        rows = query.run(pyarrow.csv.read_csv(HERE / "stock.csv"), numbers="int64").to_pylist()
        found = {(f"{row['window_start']:%H:%M}", row["company"]): (row["trends"], row["lowest"]) for row in rows}
        expected = {
            # 100-98.5, 100-99, 100-97, 98.5-97, 99-97, 100-98.5-97, 100-99-97
            ("14:00", "ACME"): (7, 97.0),
            # 20-19.5, 21-19.5
            ("14:00", "BOLT"): (2, 19.5),
            ("14:10", "ACME"): (1, 95.0),
        }
        self.assertEqual(found, expected)


if __name__ == "__main__":
    unittest.main()
