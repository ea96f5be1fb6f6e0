"""The log of a broker 4.4.0 with offset commits: clients that pause, die, hang, or have nothing to read."""

import tarfile
from pathlib import Path

from kip848_records.config import load_limits
from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.names import read_topics_file
from kip848_records.pipeline.options import AuditOptions
from kip848_records.queries.duck import DuckTables
from tests.progress import Watcher

CAPTURE = Path(__file__).parent / "captures" / "kafka-4.4.0-commits.tar.xz"
SILENCE = "[diagnosis.not_consumed]\nmin_silence_seconds = 20\n"


def unpacked(folder):
    """Unpack the capture into a folder, and return that: `segments`, `topics.json`."""
    with tarfile.open(CAPTURE) as packed:
        packed.extractall(folder, filter="data")
    return folder


def options_of(folder, config=""):
    """Unpack the capture; return the fields of options of its audit, with the limits of a configuration."""
    unpacked(folder)
    (folder / "limits.toml").write_text(config)
    return {
        "sources": (str(folder / "segments"),),
        "topics": read_topics_file(str(folder / "topics.json")),
        "offset_commits": True,
        "limits": load_limits(str(folder / "limits.toml")),
    }


def audited(folder, config="", **options):
    """Return the tables of its audit."""
    fields = {"out": str(folder / "out"), "cluster": "c"} | options_of(folder, config) | options
    run_audit(None, AuditOptions(**fields), Watcher())
    return DuckTables(str(folder / "out"))
