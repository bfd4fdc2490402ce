"""Stock: companies take turns, prices walk."""

from __future__ import annotations

import numpy as np

from trendweave import datasets


def test_every_company_has_one_record_per_second() -> None:
    table = datasets.stock(19 * 50, seed=1, time="seconds")

    assert table["time"].to_pylist() == [second for second in range(50) for _ in range(19)]
    assert table["company"].to_pylist() == list(range(19)) * 50
    assert set(table["type"].to_pylist()) == {"Stock"}
    assert table["transaction_id"].to_pylist() == list(range(950))


def test_rate_is_records_per_second() -> None:
    assert datasets.stock(7, seed=1, rate=3, time="seconds")["time"].to_pylist() == [0, 0, 0, 1, 1, 1, 2]
    assert datasets.stock(4, seed=1, rate=0.5, time="seconds")["time"].to_pylist() == [0, 2, 4, 6]


def test_companies_and_sectors() -> None:
    table = datasets.stock(10_000, seed=1, companies=7, sectors=3)

    pairs = set(zip(table["company"].to_pylist(), table["sector"].to_pylist(), strict=True))
    assert sorted(company for company, _ in pairs) == list(range(7)), "a company has one sector"
    assert {sector for _, sector in pairs} == {0, 1, 2}


def test_prices_walk() -> None:
    price = datasets.stock(19 * 20_000, seed=1)["price"].to_numpy().reshape(-1, 19)

    assert (price[0] >= 20).all()
    assert (price[0] <= 200).all()
    assert (price >= price[0] / np.e - 0.01).all()
    assert (price <= price[0] * np.e + 0.01).all()
    assert (np.rint(price * 100) / 100 == price).all(), "in cents"
    steps = np.diff(np.log(price), axis=0)
    assert abs(steps.std() - 0.001) < 0.00005
    assert abs(steps.mean()) < 0.00001
    # Steps of a walk are independent: a hundred together are ten times as wide as one.
    assert 0.008 < np.diff(np.log(price[::100]), axis=0).std() < 0.012


def test_a_volatility_of_zero_keeps_the_price() -> None:
    price = datasets.stock(60, seed=1, companies=3, volatility=0)["price"].to_numpy().reshape(-1, 3)

    assert (price == price[0]).all()


def test_volumes_and_sides() -> None:
    table = datasets.stock(50_000, seed=1)

    assert set(table["volume"].to_pylist()) == set(range(100, 10_001, 100))
    assert 0.48 < table["side"].to_pylist().count("buy") / 50_000 < 0.52
