"""Reads what `/proc` has about each process of this machine."""

from collections.abc import Iterator
from pathlib import Path


def told(name: str) -> Iterator[tuple[int, str]]:
    """Yield the id of each process, and the text of its file `/proc/ID/<name>`.

    Processes end meanwhile. `Path.glob` raises then, so it does not look for the files.
    """
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                text = (folder / name).read_text()
            except OSError:
                continue
            yield int(folder.name), text
