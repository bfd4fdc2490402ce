"""What is told when a stream fails: one line, from the texts that Spark makes of it."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from trendweave.cli.failure import Failure
from trendweave.cli.spark_session import explain_spark_errors
from trendweave.cli.spark_streams import explain_stream_errors

HEAD = "[STREAM_FAILED] Query [id = 1-2, runId = 3-4] terminated with exception: "
TAIL = " SQLSTATE: 39000 SQLSTATE: XXKST\n=== Streaming Query ===\nIdentifier: [id = 1-2]\nError: not this\n"
WORKER = """[FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred in the user provided function. Reason: Traceback
  File "site-packages/pyspark/sql/utils.py", line 163, in call
    self.func(DataFrame(jdf, wrapped_session_jdf), batch_id)
pyspark.errors.exceptions.captured.PythonException: An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "pyarrow/error.pxi", line 92, in pyarrow.lib.check_status
"""
JAVA = """Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times
\tat org.apache.spark.scheduler.DAGScheduler.abort(DAGScheduler.scala:1)
Caused by: java.io.IOException: wrapped
\tat java.base/java.lang.Thread.run(Thread.java:840)
Caused by: org.apache.kafka.common.errors.UnknownTopicOrPartitionException: This server does not host this topic.
\tat org.apache.kafka.clients.Admin.describe(Admin.java:1)
"""
OURS = """trendweave.errors.DataError: data error
TW311: the checkpoint was made for another query
  hint: start with a new checkpoint
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (WORKER + "pyarrow.lib.ArrowTypeError: Expected bytes, got text", "ArrowTypeError: Expected bytes, got text"),
        (JAVA, "UnknownTopicOrPartitionException: This server does not host this topic."),
        ("[PATH_NOT_FOUND] Path does not exist: /x.", "[PATH_NOT_FOUND] Path does not exist: /x."),
    ],
)
def test_the_last_cause_is_told(text: str, told: str) -> None:
    with pytest.raises(Failure) as raised, explain_stream_errors():
        raise PySparkException(HEAD + text + TAIL)
    assert str(raised.value).splitlines()[0] == f"the stream failed: {told}"
    assert "hint: " in str(raised.value)


def test_errors_of_our_own_are_told_as_they_are() -> None:
    with pytest.raises(Failure) as raised, explain_stream_errors():
        raise PySparkException(HEAD + WORKER + OURS + TAIL)
    assert str(raised.value).splitlines() == [
        "data error",
        "TW311: the checkpoint was made for another query",
        "  hint: start with a new checkpoint",
    ]


def test_the_states_that_spark_adds_to_a_message_are_left_out() -> None:
    """Also where they follow the hint on its line, as they do where a task of a stream fails."""
    with pytest.raises(Failure) as raised, explain_stream_errors():
        raise PySparkException(HEAD + WORKER + OURS.rstrip() + TAIL)
    assert str(raised.value).splitlines()[-1] == "  hint: start with a new checkpoint"
    with pytest.raises(Failure) as raised, explain_spark_errors():
        raise PySparkException("[PATH_NOT_FOUND] Path does not exist: /x. SQLSTATE: 42K03")
    assert str(raised.value).splitlines()[0] == "Spark failed: [PATH_NOT_FOUND] Path does not exist: /x."
