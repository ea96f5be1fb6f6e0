"""Logs made after public reports, with offset commits: as users audit them, and what commands print of them."""

import lzma
from pathlib import Path

from kip848_records import cli
from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.names import read_topics_file
from kip848_records.pipeline.options import AuditOptions
from kip848_records.queries.duck import DuckTables
from tests.progress import Watcher

FOLDER = Path(__file__).parent / "captures" / "reports-2"


def unpacked(name, folder):
    """Unpack the rows of a log into a folder; return their file."""
    file = folder / f"{name}.jsonl"
    file.write_bytes(lzma.decompress((FOLDER / f"{name}.jsonl.xz").read_bytes()))
    return file


def options_of(name, folder, *, topics=True):
    """Return the fields of options of a log's audit. `topics`: whether the names of topics are given."""
    given = read_topics_file(str(FOLDER / f"{name}.topics.json")) if topics else {}
    return {"sources": (str(unpacked(name, folder)),), "topics": given, "offset_commits": True}


def audited(name, folder, **options):
    """Return the folder of the tables of a log's audit."""
    run_audit(
        None,
        AuditOptions(**{"out": str(folder / "out"), "cluster": "c"} | options_of(name, folder) | options),
        Watcher(),
    )
    return folder / "out"


def tables_of(folder):
    return DuckTables(str(folder))


def printed(capsys, *arguments):
    """Return what a command prints, its lines as one."""
    capsys.readouterr()
    cli.main([*map(str, arguments)])
    shown = capsys.readouterr()
    return " ".join((shown.out + shown.err).split())
