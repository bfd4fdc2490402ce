"""How many buckets the state of a stream has, where Spark puts them, and states with other buckets."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from trendweave.runners.spark.blobs import _spark_hash
from trendweave.runners.spark.stream_state import StateBuckets, describe_misfit


def session(partitions: str | None) -> Any:
    found = {"spark.sql.shuffle.partitions": partitions}
    return SimpleNamespace(conf=SimpleNamespace(get=lambda name, default: found[name] or default))


@pytest.mark.parametrize("partitions", [1, 2, 7, 16])
def test_one_for_each_partition(partitions: int) -> None:
    assert StateBuckets.choose("auto", session(str(partitions))) == StateBuckets(partitions, spread=True)
    assert StateBuckets.choose(5, session(str(partitions))) == StateBuckets(5)


@pytest.mark.parametrize("partitions", ["17", "200", None, "many"])
def test_sixteen_as_they_always_were_where_there_are_more_partitions(partitions: str | None) -> None:
    assert StateBuckets.choose("auto", session(partitions)) == StateBuckets(16)


@pytest.mark.parametrize("partitions", [1, 2, 3, 5, 8, 16])
def test_each_partition_gets_one(partitions: int) -> None:
    numbers = StateBuckets(partitions, spread=True).numbers()
    places = np.mod(_spark_hash(np.array(numbers, np.int32)), partitions)
    assert Counter(places.tolist()) == dict.fromkeys(range(partitions), 1)


def test_buckets_that_were_asked_for_have_the_numbers_that_they_always_had() -> None:
    assert StateBuckets(4).numbers() == (0, 1, 2, 3)


def test_a_misfit_tells_how_to_go_on() -> None:
    assert StateBuckets(4).stored == 4
    assert StateBuckets(4, spread=True).stored == -4
    message, hint = describe_misfit(16, -4)
    assert message == "the checkpoint was made with 16 buckets, not 4 buckets, one for each partition"
    assert hint == "set buckets=16, or use a new checkpoint"
    assert "spark.sql.shuffle.partitions to 4, as it was" in describe_misfit(-4, 4)[1]
    assert "spark.sql.shuffle.partitions to 16, as it was" in describe_misfit(-16, 16)[1]
