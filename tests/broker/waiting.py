"""Waiting for something to become so: no test knows how long a broker takes."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(condition: Callable[[], T], what: str, patience: float = 20) -> T:
    """Ask until the answer is true, and return it.

    Raises TimeoutError, which names `what`, after `patience` seconds.
    """
    end = time.monotonic() + patience
    while True:
        if answer := condition():
            return answer
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {patience:g} s")
        time.sleep(0.02)
