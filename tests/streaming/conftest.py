"""What the streaming tests share: a session that can run streams, and a Kafka broker, started when first asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.spark.comparing import settings
from tests.streaming import kafka_setup
from tests.streaming.kafka_broker import running_broker
from tests.streaming.running import ROCKSDB

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def kafka_servers(java_home: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The bootstrap servers of a broker for the whole run; topics come into being when they are first written."""
    if reason := kafka_setup.why_not():
        pytest.skip(f"{kafka_setup.SKIPPED}: {reason}")
    with running_broker(tmp_path_factory.mktemp("kafka")) as servers:
        yield servers


@pytest.fixture(scope="module")
def streaming(spark: SparkSession) -> Iterator[SparkSession]:
    """The session with the state store that streams need, and with few buckets of keys."""
    with settings(spark, sql_streaming_stateStore_providerClass=ROCKSDB, buckets=3):
        yield spark
