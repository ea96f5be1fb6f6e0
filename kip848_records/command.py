"""The installed command `kip848`; Spark, which most commands need, is an extra of the package."""

from __future__ import annotations

import io
import os
import signal
import sys
from typing import TYPE_CHECKING

from kip848_records.machine.imports import skip_pandas
from kip848_records.spark.setup_errors import SetupError
from kip848_records.spark.threads import threads_at_work

if TYPE_CHECKING:
    from types import FrameType

_INTERRUPTED = 130
_TERMINATED = 143


def main() -> int:
    """Run the command line; return its exit code.

    It is 2 if PySpark or Delta is missing, 130 after Ctrl-C, and 143 after SIGTERM: both remove what is temporary.
    """
    _encode_every_id()
    skip_pandas()
    terminated = _terminations()
    try:
        code = _run()
    except KeyboardInterrupt:  # while modules are imported, or arguments are parsed
        print("interrupted", file=sys.stderr)  # noqa: T201 - the output of a command
        code = _INTERRUPTED
    finally:
        # The command has ended and its exit code is final, although Python needs a moment to exit.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if terminated is not None:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if terminated:
        code = _TERMINATED
    # Python would wait for threads of Spark, which may never answer; and it would end those of an interrupted engine in
    # the midst of native code, which aborts the process.
    was_interrupted = code in {_INTERRUPTED, _TERMINATED} and "pyspark" not in sys.modules
    if threads_at_work() or was_interrupted:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _encode_every_id() -> None:
    """Let stdout take each character: in a file or a pipe as UTF-8, in a terminal without it as an escape.

    Locales such as `en_US.ISO-8859-1` have neither the characters of all ids nor those of the answers.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding=None if sys.stdout.isatty() else "utf-8", errors="backslashreplace")


def _terminations() -> list[int] | None:
    """Interrupt the command when it is terminated; return what is then filled. None: its parent has another wish."""
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return None
    terminated = list[int]()

    def interrupt(number: int, frame: FrameType | None) -> None:
        terminated.append(number)
        handler = signal.getsignal(signal.SIGINT)
        if not callable(handler):  # it is ignored, as in the background
            raise KeyboardInterrupt
        handler(number, frame)

    signal.signal(signal.SIGTERM, interrupt)
    return terminated


def _run() -> int:
    try:
        from kip848_records import cli  # noqa: PLC0415 - not before it is known to be there

        return cli.main()
    except ModuleNotFoundError as missing:
        failure = SetupError.of_missing_module(missing)
        if failure is None:
            raise
        print(f"error: {failure.message}\nhint: {failure.hint}", file=sys.stderr)  # noqa: T201
        return failure.exit_code
