"""`trendweave stream`: a query on a stream of files or of Kafka, until it is stopped."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING

from trendweave.cli.answers import Answers
from trendweave.cli.failure import Failure
from trendweave.cli.streams.live_view import LinesView, LiveView, View
from trendweave.consoles import make_console

if TYPE_CHECKING:
    from trendweave.cli.streams.running import StreamRun

#: What a shell gives for a command that Ctrl-C ended.
INTERRUPTED = 130
_LINES_OF_LOG = 12


class Signals:
    """Ctrl-C and SIGTERM ask the stream to stop; a second one leaves at once, which loses nothing but repeats the
    rows of a micro-batch that were shown and not noted as done."""

    def __init__(self) -> None:
        self.asked = False
        self._console = make_console()
        self._before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        self.watch()

    def watch(self) -> None:
        """Again after Spark has started, as it takes Ctrl-C for itself and would cancel what runs."""
        for number in self._before:
            signal.signal(number, self._handle)

    def restore(self) -> None:
        """Give signals back to those who had them."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            self._console.show_cursor(True)
            os._exit(INTERRUPTED)
        self.asked = True


def run_until_stopped(run: StreamRun, master: str, conf: Mapping[str, str], title: str, log: Path | None) -> None:
    """Until it ends or is stopped. `log` gets what the JVM and its workers write, which would tear a live view."""
    from trendweave.cli import spark_session
    from trendweave.cli.streams.running import RunningStream, session_settings

    signals = Signals()
    try:
        with ExitStack() as stack:
            settings = session_settings(master, run.buckets) | dict(conf)
            with redirect_errors(log):
                spark = stack.enter_context(spark_session.session(master, settings, progress=False, without=""))
            signals.watch()
            with spark_session.explain_spark_errors():
                rows = run.rows(spark)
            view = _make_view(title, run.answers(rows), run.counts_seconds(rows))
            stack.callback(view.close)
            stream = RunningStream(run, rows, view)
            stream.follow(lambda: signals.asked)
            if stream.reader_is_gone:
                # Python would complain when it flushes what nobody reads.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    finally:
        signals.restore()


def _make_view(title: str, answers: Answers, time_is_number: bool) -> View:
    if sys.stdout.isatty():
        return LiveView(make_console(), title, answers, time_is_number)
    return LinesView(sys.stdout, make_console(errors=True), answers, time_is_number)


@contextmanager
def redirect_errors(log: Path | None) -> Iterator[None]:
    """Processes that are started in the block write their errors there; the end of it is told where they fail."""
    with _open_log(log) as file:
        begin = file.seek(0, os.SEEK_END)
        sys.stderr.flush()
        before = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield
        except Failure as error:
            file.seek(begin)
            said = file.read().decode(errors="replace").strip().splitlines()[-_LINES_OF_LOG:]
            raise Failure("\n".join([*said, str(error)])) from error
        finally:
            os.dup2(before, 2)
            os.close(before)


def _open_log(log: Path | None) -> IO[bytes]:
    try:
        return tempfile.TemporaryFile() if log is None else log.open("ab+")
    except OSError as error:
        raise Failure(f"the log cannot be written: {error}", "does the folder exist, and is it writable?") from error
