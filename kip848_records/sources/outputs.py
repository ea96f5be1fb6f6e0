"""Check that a command writes neither into a source, nor into a table, nor into the data folder of a broker."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from kip848_records.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from kip848_records.engines.engine import Engine
    from kip848_records.sources.listing import Copy

_PARTITION = re.compile(r"__consumer_offsets-\d+(\..+)?")
_META = "meta.properties"
_IN_BROKER = re.compile(r"/(meta\.properties|__consumer_offsets-[^/]+)(?=/|$)")


def check_output(
    option: str, output: str, sources: Iterable[str], on_this_machine: Callable[[str], Path | None]
) -> None:
    """Raise InputError if the path that `option` names is in a source, contains one, or is where it would do harm.

    A broker reads each folder in its data folder as a partition, and does not start if one is not
    (`LogManager.loadLogs`, `LocalLog.parseTopicPartitionName`). Delta deletes what it does not know in the folder of a
    table. The next run would read tables in a source as part of it. `on_this_machine` returns the local path of a path,
    None if it is elsewhere: such paths are compared as text. Symbolic links are followed.
    """
    local = on_this_machine(output)
    place = _parts(output) if local is None else local.resolve().parts
    for source in sources:
        local_source = on_this_machine(source)
        if (local is None) != (local_source is None):
            continue
        source_place = _parts(source) if local_source is None else local_source.resolve().parts
        if place[: len(source_place)] == source_place:
            relation = "is" if place == source_place else "lies in"
            raise InputError.output_at_source(option, output, relation, source)
        if source_place[: len(place)] == place:
            raise InputError.output_at_source(option, output, "holds", source)
    if local is not None:
        for folder in (local.resolve(), *local.resolve().parents):
            if os.path.isdir(folder / "_delta_log"):  # noqa: PTH112 - does not raise if a folder cannot be searched
                raise InputError(
                    f"{option} {output} lies in the Delta table {folder!s}",
                    f"pass a folder outside of it with {option}",
                )
        _check_broker_folder(option, output, local.resolve())


def check_apart(engine: Engine, copies: Iterable[Copy], out: str) -> None:
    """Raise InputError if tables in the folder `out` would be in a copy of the log, or in a broker's data folder.

    On another file system, a broker's data folder is recognised by its partitions of `__consumer_offsets`.
    """
    listing = engine.listing()
    check_output("--out", out, [copy.name for copy in copies], listing.local)
    if listing.local(out) is None and (found := listing.files(out, "/{meta.properties,__consumer_offsets-*/*}")):
        raise InputError.output_in_broker_folder("--out", out, out, _IN_BROKER.findall(found[0])[-1])


def _check_broker_folder(option: str, output: str, place: Path) -> None:
    for folder in (place, *place.parents):
        if found := _broker_marker(folder):
            raise InputError.output_in_broker_folder(option, output, str(folder), found)


def _broker_marker(folder: Path) -> str | None:
    """Return the name of the file or folder that identifies a broker's data folder, or one of its partitions."""
    if _PARTITION.fullmatch(folder.name):
        return folder.name
    if os.path.isfile(folder / _META):  # noqa: PTH113 - does not raise if a parent folder cannot be searched
        return _META
    return next((each.name for each in folder.glob("__consumer_offsets-*") if _PARTITION.fullmatch(each.name)), None)


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part not in {"", "."})
