"""Checks of a command's paths and options before Spark starts, which takes seconds.

They cover paths that are known to be on this machine; Spark checks the others later with the same messages.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from kip848_records.cli.arguments import audit_options
from kip848_records.engines.choice import Work, choose
from kip848_records.errors import InputError
from kip848_records.machine.disks import DiskError
from kip848_records.machine.files import Listing
from kip848_records.machine.paths import known_path, names_beside, path_on_this_machine
from kip848_records.sources.outputs import check_output
from kip848_records.sources.topic.address import is_topic, open_topic
from kip848_records.tables.errors import TablesError
from kip848_records.text import similar_hint
from kip848_records.times import CLOCKS_DIFFER_BY_MS

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping, Sequence

    from kip848_records.sources.listing import Copy


def check_log(arguments: Namespace, outputs: Mapping[str, str | None], *, or_tables: bool = False) -> None:
    """Raise InputError for invalid arguments of `add_source`; list the `copies` that are on this machine.

    `outputs` are the paths to write to, by their options; None if an option is not given. `or_tables`: the source might
    have been the tables of an audit.
    """
    copies = [source for source in arguments.sources if not is_topic(source)]
    check_outputs(outputs, copies)
    if or_tables and len(copies) == 1 and is_nothing(copies[0]):
        raise InputError.path_not_found(copies[0], names_beside(copies[0]), or_tables=True)
    arguments.copies = known_copies(copies, arguments.format)
    for file in (path_on_this_machine(file) for copy in arguments.copies for file in copy.files):
        if file is not None and not os.access(file, os.R_OK):
            raise InputError.not_opened(str(file), "Permission denied")


def check_capture(arguments: Namespace) -> None:
    """Raise InputError for invalid arguments of `add_capture`; set the `options` of an audit."""
    if arguments.cluster == "":
        raise TablesError.empty_cluster()
    now = datetime.now(UTC)
    if arguments.captured_at is not None and arguments.captured_at > now + timedelta(milliseconds=CLOCKS_DIFFER_BY_MS):
        raise InputError.captured_in_future(arguments.captured_at, now)
    if not (arguments.offset_commits or arguments.needs_commits):
        if arguments.offsets_retention is not None:
            raise InputError("--offsets-retention is about offset commits", "pass --offset-commits too, or omit it")
        if arguments.end_offsets is not None:
            raise InputError(
                "--end-offsets needs --offset-commits", "pass both: committed offsets are compared with end offsets"
            )
    arguments.options = audit_options(arguments)


def check_topics(arguments: Namespace) -> None:
    """Raise InputError if a live topic cannot be read: the last check, as its broker may take seconds to answer.

    It asks the cluster before an engine starts: Spark takes half a minute until it says the same. The command goes on
    with the same client, `arguments.brokers`, so that it connects and logs in once to each broker.
    """
    topics = [source for source in arguments.sources if is_topic(source)]
    for topic in topics:
        choose(arguments.engine, Work((), None, lambda: 0, topic))
        from kip848_records.sources.topic.client import Brokers

        arguments.brokers = Brokers.of(open_topic(topic, arguments.kafka_config))
        arguments.brokers.check_readable()


def check_outputs(outputs: Mapping[str, str | None], sources: Sequence[str] = ()) -> None:
    """Raise InputError if an output path is inside a source, a table, or the data folder of a broker."""
    for option, output in outputs.items():
        if output is not None:
            check_output(option, output, sources, known_path)


def check_folders(outputs: Mapping[str, str | None]) -> None:
    """Call `check_folder` for each folder to write to; None if an option is not given."""
    for option, output in outputs.items():
        if output is not None:
            check_folder(output, option)


def check_folder(out: str, option: str = "--out") -> None:
    """Raise InputError if a folder is not writable, or another run is writing to it."""
    folder = known_path(out)
    if folder is None:
        return
    there = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    if not there.is_dir():
        raise DiskError.not_writable(out, f"{there} is a file", option)
    if not os.access(there, os.R_OK | os.W_OK | os.X_OK):
        raise DiskError.not_writable(out, f"no permission to write to {there}", option)
    from kip848_records.tables.locks import is_locked  # --help works on Windows, which has no such locks

    if there == folder.absolute() and is_locked(folder):
        raise TablesError.other_writer(out)


def check_tables(path: str) -> None:
    """Raise InputError if there is no folder, or if it contains no table at all."""
    folder = known_path(path)
    if is_nothing(path):
        near = similar_hint(path.rstrip("/").rpartition("/")[2], names_beside(path))
        raise TablesError(f"there is nothing at {path}", near or "pass the folder of kip848 audit --out")
    if folder is not None and not holds_tables(path):
        raise TablesError.not_audited(path, "audit_runs")


def holds_tables(path: str) -> bool:
    """Return whether a folder on this machine contains Delta tables, one folder each, as an audit writes them."""
    folder = path_on_this_machine(path)
    return folder is not None and any(folder.glob("*/_delta_log"))


def is_nothing(path: str) -> bool:
    """Return whether there is certainly nothing at a path: of other file systems only an engine knows it."""
    local = known_path(path)
    return local is not None and not local.exists()


def holds_audit(path: str) -> bool:
    """Return whether a folder on this machine contains the tables of an audit that ended: all write `audit_runs`."""
    folder = path_on_this_machine(path)
    return folder is not None and (folder / "audit_runs" / "_delta_log").is_dir()


def known_copies(paths: Sequence[str], source_format: str | None) -> list[Copy]:
    """Return the copies of the log at those of the paths that are known to be on this machine, with their formats.

    Raises InputError for the first path that does not exist, or has nothing of that format.
    """
    from kip848_records.sources.listing import find_copies

    return find_copies(Listing(known_path), [path for path in paths if known_path(path) is not None], source_format)
