"""A script: runs the commands on standard input (a JSON list of argument lists) one after the other, in one process
and so with one JVM. Prints exit code, standard output and standard error of each, as JSON."""

from __future__ import annotations

import json
import os
import sys
import tempfile

from trendweave.cli import main


def run(arguments: list[str]) -> tuple[int, str, str]:
    """Streams are caught below Python, as the JVM writes to them as well."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        before = [os.dup(1), os.dup(2)]
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        sys.argv = ["trendweave", *arguments]
        try:
            main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for number, saved in enumerate(before, start=1):
                os.dup2(saved, number)
                os.close(saved)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode())
        return code, texts[0], texts[1]


def share_a_session() -> None:
    """Commands after the first find the session of the first, which is as if each had made one, only faster."""
    from pyspark.sql import SparkSession

    SparkSession.stop = lambda session: None


if __name__ == "__main__":
    if "--one-session" in sys.argv:
        share_a_session()
    print(json.dumps([run(arguments) for arguments in json.load(sys.stdin)]))
