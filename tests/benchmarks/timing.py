"""CPU times of functions that are compared."""

import time
from collections.abc import Callable

SECONDS = 1.0


def best(*functions: Callable[[], object]) -> list[float]:
    """The shortest CPU time of each function in seconds; they take turns for `SECONDS` each, three times in a row.

    CPU time and its minimum, so that other work on the machine counts little.
    """
    times = [float("inf")] * len(functions)
    deadline = time.perf_counter() + SECONDS * len(functions)
    while time.perf_counter() < deadline:
        for place, function in enumerate(function for function in functions for _ in range(3)):
            start = time.process_time()
            function()
            times[place // 3] = min(times[place // 3], time.process_time() - start)
    return times
