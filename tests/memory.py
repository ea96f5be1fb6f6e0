"""How much memory a process has used."""

import resource
import sys
from pathlib import Path


def peak_memory() -> int:
    """Return the most memory that this process has had in use, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # On Linux `ru_maxrss` of a new process begins with what its parent had in use.
        return next(int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
