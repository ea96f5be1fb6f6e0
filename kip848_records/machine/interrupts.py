"""Long calls into native code, which Python's own interrupts do not end, or only after a while."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from threading import Event, Thread, current_thread, main_thread
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Result = TypeVar("Result")

_LOOK_SECONDS: Final = 0.1
_BEGIN_SECONDS: Final = 10
"""A thread that has not begun by then never does."""

_stops: Final[list[Callable[[], object]]] = []
"""What ends the calls that are running now, in any thread."""


def interruptible(call: Callable[[], Result], stop: Callable[[], object] | None = None) -> Result:
    """Return what a function returns, or raise its error; Ctrl-C raises KeyboardInterrupt here at once.

    Another thread calls the function, because only the main thread is interrupted. Then `stop`, and that of each call
    within this one, makes the function end, which is awaited. Without `stop` it goes on.
    """
    with _known(stop):
        if current_thread() is not main_thread():
            return call()
        # Not `Thread.join`: when that is interrupted, Python 3.11 takes the thread for one that has ended.
        results, failures, has_begun, has_ended = list[Result](), list[BaseException](), Event(), Event()

        def run() -> None:
            has_begun.set()
            try:
                results.append(call())
            except BaseException as error:  # noqa: BLE001 - raised by the caller
                failures.append(error)
            finally:
                has_ended.set()

        try:
            # It waits until the thread runs, which a busy machine lets it do for long: an interrupt comes then, too.
            Thread(target=run, daemon=True).start()
            while not has_ended.wait(_LOOK_SECONDS):
                pass
        except BaseException:
            while stop is not None and has_begun.wait(_BEGIN_SECONDS) and not has_ended.is_set():
                for each in [*_stops]:
                    with suppress(Exception):  # of a call that ends now
                        each()
                has_ended.wait(_LOOK_SECONDS)
            raise
        if failures:
            raise failures[0]
        return results[0]


@contextmanager
def _known(stop: Callable[[], object] | None) -> Iterator[None]:
    if stop is None:
        yield
        return
    try:
        _stops.append(stop)
        yield
    finally:
        with suppress(ValueError):  # an interrupt came first
            _stops.remove(stop)
