"""What Spark says when something went wrong, as a line that says what to do."""

from __future__ import annotations

import re

_OURS = re.compile(r"trendweave\.errors\.\w+: (.*?)(?=\n\s*\n|\n\s*at |\nDriver stacktrace|\Z)", re.DOTALL)
#: A task that lacks what it needs, in a worker that may lack `trendweave.errors` as well.
_LACKS = re.compile(r"RuntimeError: (TW424: [^\n]*)")
#: What PySpark itself says of a worker before it runs a task.
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '(\w+)|\[PACKAGE_NOT_INSTALLED\] (\w+)")
_OTHER_PYTHON = re.compile(r"Python in worker has different version: (\S+) than that in driver: ([\d.]+)")
_PYTHON_HINT = "set PYSPARK_PYTHON to one, a path that every worker has"
_JAVA = re.compile(r"\n\s*at [\w.$]+|\nDriver stacktrace|\nJVM stacktrace")

_STATES = re.compile(r"(?:\s*SQLSTATE: \w+)+\s*$")
_CALL = re.compile(r"^An error occurred while calling \S+\s*:?\s*")
_CLASS = re.compile(r"^[\w.$]+(?:Exception|Error): ")


def find_worker_message(text: str) -> str | None:
    """What ended a Python worker, in our words, from what Spark says about the worker; None where it is not known."""
    if found := _OURS.findall(text):
        return strip_states(found[-1])
    if found := _LACKS.findall(text):
        message, _, hint = strip_states(found[-1]).partition("; ")
        return f"{message}\n  hint: {hint}"
    if other := _OTHER_PYTHON.search(text):
        return f"TW424: Spark's workers are Python {other[1]}, this is {other[2]}\n  hint: {_PYTHON_HINT}"
    if missing := _NO_MODULE.search(text):
        name = (missing[1] or missing[2]).lower()
        return f"TW424: the Python of Spark's workers has no {name}\n  hint: install it there, or {_PYTHON_HINT}"
    return None


def find_plain_message(error: Exception) -> str:
    """What Java said first, or what that was caused by in the end, without any stack."""
    text = str(error)
    causes = re.findall(r"^Caused by: (.*)$", text, re.MULTILINE)
    said = causes[-1] if causes else _CALL.sub("", _JAVA.split(text)[0])
    return strip_states(_CLASS.sub("", said.strip()))


def strip_states(text: str) -> str:
    """Leave out the SQLSTATEs at the end of a message: each layer of Spark that an error passes adds one."""
    return _STATES.sub("", text).strip()
