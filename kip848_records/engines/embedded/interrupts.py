"""Long calls into native code, which Python's own interrupts do not end."""

from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_LOOK_SECONDS = 0.1


def interruptible(call: Callable[[], Any], stop: Callable[[], None] | None = None) -> None:
    """Call a function in another thread, so that Ctrl-C raises KeyboardInterrupt here at once; raise its errors.

    After an interrupt, `stop` makes the function end, which is awaited; without it the function goes on.
    """
    failures = list[BaseException]()

    def run() -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - raised by the caller
            failures.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_LOOK_SECONDS)
    except BaseException:
        if stop is not None:
            stop()
            thread.join()
        raise
    if failures:
        raise failures[0]
