"""Where tests keep what they fetch: the user's cache folder, shared by processes and runs."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path


class UnavailableError(Exception):
    """Something could not be had; the text is one line that says why, fit for `pytest.skip`."""


def kept(kind: str, name: str, make: Callable[[Path], Path]) -> Path:
    """Return the file or folder `name` of the cache, which `make` makes in the empty folder that it is given.

    Raises UnavailableError where there is no place for it, or `make` does.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "kip848-records" / kind
    place = cache / name
    if not place.exists():
        try:
            cache.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=cache) as work:
                _publish(make(Path(work)), place)
        except OSError as error:
            raise UnavailableError(f"there is no place for {kind} in {cache}: {error}") from None
    return place


def _publish(made: Path, place: Path) -> None:
    """Give what is finished its name in one step, unless another process was first."""
    try:
        made.rename(place)
    except OSError:
        if not place.exists():
            raise
