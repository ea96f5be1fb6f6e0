"""`kip848 check`: judges what is expected of groups, on the tables of an audit or on a log."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from kip848_records.audit import DEFAULT_CLUSTER, run_audit
from kip848_records.check import check, is_audited
from kip848_records.cli.arguments import (
    add_capture,
    add_schema,
    add_source,
    audit_options,
    check_source,
    given_path,
    place,
)
from kip848_records.cli.output import check_file, print_parts, progress_lines, write_file
from kip848_records.config import load_settings
from kip848_records.errors import InputError
from kip848_records.report.check_json import check_json
from kip848_records.report.check_terminal import check_terminal
from kip848_records.report.junit import junit
from kip848_records.report.markdown import markdown
from kip848_records.report.sarif import sarif
from kip848_records.session import get_session
from kip848_records.sources.topic import is_topic
from kip848_records.tables.errors import TablesError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from kip848_records.cli.arguments import Commands
    from kip848_records.quality.results import Verdict

_FAILED = 1
_FORMS = {
    "junit": ("JUnit XML", junit),
    "sarif": ("SARIF 2.1.0", sarif),
    "json": ("JSON", check_json),
    "markdown": ("Markdown, as GitHub shows it", markdown),
}
_OF_A_LOG = ("format", "dialect", "topics", "captured_at", "out")


def add(commands: Commands) -> None:
    """Add the command."""
    command = commands.add_parser(
        "check",
        help="judge expectations: exit code 1 if groups do not converge, or the log breaks the protocol's rules",
        description="Judges expectations about the tables of an audit, or about a copy of the log, which is audited "
        "first. Exit code 0: none failed, 1: one did, or the check with an error line, 2: bad arguments or input.",
    )
    add_source(command, "DIR|SOURCE", "the folder of an audit's tables; or ", at_least=0)
    add_schema(command)
    command.add_argument("--cluster", metavar="NAME", help="only this cluster of DIR; the name of the log's")
    add_capture(command)
    command.add_argument("--out", type=given_path, metavar="DIR", help="keep the tables of the log's audit there")
    command.add_argument(
        "--config", type=given_path, metavar="FILE", help="TOML with what differs from the defaults, conf/audit.toml"
    )
    for name, (what, _) in _FORMS.items():
        command.add_argument(f"--{name}", type=given_path, metavar="FILE", help=f"write the results to FILE as {what}")
    command.set_defaults(run=_run, dialect=None)  # to tell whether it was named


def _run(arguments: Namespace) -> int:
    check_source(arguments)
    settings = load_settings(arguments.config)
    files = _files(arguments)
    progress = progress_lines()
    progress("starting Spark")
    spark = get_session(reads=arguments.sources)
    with _tables(spark, arguments, progress) as (tables, cluster):
        progress("judging what is expected")
        verdict = check(spark, tables, settings, cluster=cluster)
    print_parts(check_terminal(verdict))
    for path, form in files.items():
        write_file(path, form(verdict))
    return _FAILED if verdict.failed else 0


def _files(arguments: Namespace) -> dict[Path, Callable[[Verdict], str]]:
    """Return what to write where; raises InputError for a file that cannot be written, before any work is done."""
    files: dict[Path, Callable[[Verdict], str]] = {}
    for name, (_, form) in _FORMS.items():
        if (text := getattr(arguments, name)) is not None:
            path = Path(text)
            if path in files:
                raise InputError.no_file(text, "it is named for two kinds of results")
            check_file(path)
            files[path] = form
    return files


@contextmanager
def _tables(
    spark: SparkSession, arguments: Namespace, progress: Callable[[str], None]
) -> Iterator[tuple[str, str | None]]:
    """Yield the folder of the tables and the cluster: as named, or those of a log that is audited now."""
    if arguments.catalog is not None or arguments.schema is not None or not arguments.sources:
        _refuse_options_of_logs(arguments, tables := place(arguments, next(iter(arguments.sources), None), "DIR"))
        yield tables, arguments.cluster
        return
    first, *others = arguments.sources
    if not others and not is_topic(first) and is_audited(spark, first):
        _refuse_options_of_logs(arguments, first)
        yield first, arguments.cluster
        return
    with nullcontext(arguments.out) if arguments.out else TemporaryDirectory(prefix="kip848-check-") as out:
        cluster = DEFAULT_CLUSTER if arguments.cluster is None else arguments.cluster
        run_audit(spark, audit_options(arguments, out, cluster), progress)
        yield out, cluster


def _refuse_options_of_logs(arguments: Namespace, tables: str) -> None:
    for name in _OF_A_LOG:
        if getattr(arguments, name) is not None:
            raise TablesError.not_for_tables(f"--{name.replace('_', '-')}", tables)
