"""The files into which `kip848 check` writes its results, one for each format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from kip848_records.cli.arguments import given_path
from kip848_records.cli.replaced_file import check_file, write_file
from kip848_records.errors import InputError, Kip848Error, UnexpectedError
from kip848_records.machine.disks import DiskError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Mapping

    from kip848_records.expectations.results import Verdict
    from kip848_records.queries.tables import Tables
    from kip848_records.report.headline import Headline

_FORMS: Final = {
    "junit": "JUnit XML",
    "sarif": "SARIF 2.1.0",
    "json": "JSON",
    "markdown": "Markdown, as GitHub shows it",
}
METRICS: Final = "openmetrics"
FORMATS: Final = (*_FORMS, METRICS)
"""The options that name a file."""

_COLLECTED: Final = ".prom"


def add_forms(command: ArgumentParser) -> None:
    """Add the options of all files but the metrics."""
    for name, what in _FORMS.items():
        command.add_argument(f"--{name}", type=given_path, metavar="FILE", help=f"write the results to FILE as {what}")


def add_metrics(command: ArgumentParser) -> None:
    """Add the option of the metrics."""
    command.add_argument(
        f"--{METRICS}",
        type=given_path,
        metavar="FILE",
        help="write metrics to FILE, named *.prom: the textfile collector of Prometheus' node exporter reads it",
    )


def checked_files(arguments: Namespace) -> dict[str, Path]:
    """Return the files to write by format; raises InputError for a file that cannot be written, before any work."""
    files: dict[str, Path] = {}
    for name in FORMATS:
        if (text := getattr(arguments, name)) is not None:
            path = Path(text)
            if name == METRICS and path.suffix != _COLLECTED:
                raise InputError(f"--{name} {text} does not end in {_COLLECTED}", "the collector reads no other files")
            if path in files.values():
                raise DiskError.no_file(text, "two kinds of results name the same file", "name one file per format")
            check_file(path, is_replaced=name == METRICS)
            files[name] = path
    return files


def write_files(
    files: Mapping[str, Path], tables: Tables, verdict: Verdict, heads: Mapping[str, Headline]
) -> list[Kip848Error]:
    """Write the results; return the errors of files that cannot be written: the others and the verdict stand.

    A fault of this package is one of them: an `UnexpectedError`.

    `heads`: of each cluster, for JSON and metrics.
    """
    errors = (_error(name, path, tables, verdict, heads) for name, path in files.items())
    return [error for error in errors if error is not None]


def _error(
    name: str, path: Path, tables: Tables, verdict: Verdict, heads: Mapping[str, Headline]
) -> Kip848Error | None:
    try:
        _write(name, path, tables, verdict, heads)
    except Kip848Error as error:
        return error
    except Exception as error:  # noqa: BLE001 - the other files are written all the same
        return UnexpectedError.of(error, f"writing {path}")
    return None


def _write(name: str, path: Path, tables: Tables, verdict: Verdict, heads: Mapping[str, Headline]) -> None:
    from kip848_records.report.check_json import check_json
    from kip848_records.report.junit import junit
    from kip848_records.report.markdown import markdown
    from kip848_records.report.sarif import sarif

    if name == METRICS:
        from kip848_records.report.metrics import metrics

        changes = {cluster: head.changes for cluster, head in heads.items() if head.changes is not None}
        write_file(path, metrics(tables, verdict, changes), is_replaced=True)
    elif name == "json":
        write_file(path, check_json(verdict, heads))
    else:
        write_file(path, {"junit": junit, "sarif": sarif, "markdown": markdown}[name](verdict))
