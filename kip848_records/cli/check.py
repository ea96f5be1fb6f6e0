"""`kip848 check`: evaluate the expectations about groups, on the tables of an audit or on a log."""

from __future__ import annotations

import sys
from argparse import RawDescriptionHelpFormatter
from typing import TYPE_CHECKING, NamedTuple

from rich.text import Text

from kip848_records.cli import before_spark
from kip848_records.cli.arguments import add_expectations, add_quiet, add_release, given_path, limit
from kip848_records.cli.audited import (
    add_tables,
    answer_about,
    are_tables,
    check_tables,
    note_other_limits,
    opened_tables,
)
from kip848_records.cli.output import print_error, print_note, print_parts, width
from kip848_records.cli.progress import shown_progress
from kip848_records.cli.result_files import FORMATS, METRICS, add_forms, add_metrics, checked_files, write_files
from kip848_records.errors import InputError, Kip848Error, UnexpectedError
from kip848_records.tables.errors import TablesError
from kip848_records.text import printable

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rich.console import RenderableType

    from kip848_records.cli.arguments import Commands, Limit
    from kip848_records.expectations import Expectation
    from kip848_records.expectations.files import Setting
    from kip848_records.expectations.results import Verdict
    from kip848_records.queries.tables import Tables
    from kip848_records.report.changes import Changes
    from kip848_records.report.headline import Headline
    from kip848_records.report.news import News
    from kip848_records.report.webhook import Webhook

_FAILED = 1
_COMPARES_RUNS = (METRICS, "webhook")
_EXIT_CODES = """\
exit codes:
  0    no expectation failed; warnings and unknown results do not fail
  1    an expectation failed, more results are unknown than --max-unknown allows,
       or a file of results cannot be written
  2    bad arguments or input: nothing was checked
  70   a fault of kip848 itself; if the query of an expectation failed, the results
       of the others are complete
  130  interrupted
A webhook that fails never changes the exit code.
"""


def add(commands: Commands) -> None:
    """Add the command."""
    command = commands.add_parser(
        "check",
        help="evaluate expectations: exit code 1 if groups do not converge, or the log breaks the protocol's rules",
        description="Evaluates expectations about the tables of an audit, or about a log, which is audited first. "
        "The exit code is the verdict.",
        epilog=_EXIT_CODES,
        formatter_class=RawDescriptionHelpFormatter,
    )
    add_tables(command)
    command.add_argument("--out", type=given_path, metavar="DIR", help="keep the tables of the log's audit in DIR")
    add_expectations(command)
    command.add_argument(
        "--group", metavar="G", help="only what is about this group; of a live topic, only its partition is read"
    )
    command.add_argument(
        "--select",
        action="append",
        default=[],
        metavar="NAME",
        help="evaluate only this expectation, also if it is off; may be given several times",
    )
    add_release(
        command, "evaluate only whether this release of Kafka can load each partition, and which groups it loses"
    )
    command.add_argument(
        "--max-unknown",
        type=limit,
        metavar="N|P%",
        help="exit code 1 if more than N results, or more than P percent of all, are unknown",
    )
    add_forms(command)
    command.add_argument(
        "--json-line", action="store_true", help="print the counts as one line of JSON instead, for log shippers"
    )
    command.add_argument(
        "--verbose", action="store_true", help="also list what passed, and say why results are unknown"
    )
    add_metrics(command)
    command.add_argument(
        "--webhook",
        action="append",
        default=[],
        metavar="URL",
        help="send which groups became overdue, by the limits of group_stable and streams_ready, or recovered, and "
        "which troubles over time began or ended since the run before, if any did: https://... gets JSON, slack://... "
        "and others are Apprise's; ${env:NAME} in the URL is a variable; may be given several times",
    )
    add_quiet(command, ", and no results if the exit code is 0")
    command.set_defaults(run=_run)


def _run(arguments: Namespace) -> int:
    files = checked_files(arguments)
    _check(arguments)
    webhooks = _webhooks(arguments)
    from kip848_records.check import check
    from kip848_records.report.partly_read import not_looked_at

    expectations, settings = _expectations(arguments)
    group = arguments.group

    def checked(tables: Tables, cluster: str | None) -> _Checked:
        progress.phase("evaluating expectations")
        note_other_limits(arguments, tables, cluster)
        verdict = check(tables, settings, expectations=expectations, cluster=cluster, group=group)
        found = _Checked(verdict, [each for result in verdict.results for each in result.faults.values()])
        if group is None:  # else the tables of a log have no other group, and the verdict is about no other
            found = _with_changes(found, tables, cluster, settings, files, is_sent=bool(webhooks))
        errors = [*found.errors, *write_files(files, tables, verdict, found.heads)]  # before the exit code is known
        return found._replace(errors=errors, beside=list(not_looked_at(tables, cluster)))

    with shown_progress(arguments) as progress:
        if group is None:
            with opened_tables(arguments, progress, keep=arguments.out) as opened:
                found = checked(*opened)
        else:
            # Whether its records can be loaded, and the number of partitions, show in other groups.
            found = answer_about(arguments, progress, group, checked, keep=arguments.out, needs_others=True)
    return _told(arguments, found, webhooks)


def _expectations(arguments: Namespace) -> tuple[Sequence[Expectation], Mapping[str, Setting]]:
    """Return the expectations to evaluate, and their settings by name."""
    from kip848_records.config import asked_for, load_config, selected

    expectations, settings = load_config(arguments.config, arguments.expectations)
    if arguments.release is not None:
        from kip848_records.expectations.loadable_by import loadable_by

        only = loadable_by(arguments.release)
        # Changes since the run before go by the settings of others.
        return (only,), settings | {only.name: asked_for(only, settings[only.name])}
    return selected(arguments.select, expectations, settings) if arguments.select else (expectations, settings)


class _Checked(NamedTuple):
    """What a check found. `message`: for webhooks. `beside`: what was not looked at."""

    verdict: Verdict
    errors: Sequence[Kip848Error]
    heads: Mapping[str, Headline] = {}
    message: News | None = None
    beside: Sequence[RenderableType] = ()


def _with_changes(  # noqa: PLR0913 - what is compared, and for what
    found: _Checked,
    tables: Tables,
    cluster: str | None,
    settings: Mapping[str, Setting],
    files: Mapping[str, Path],
    *,
    is_sent: bool,
) -> _Checked:
    """Return what a check found with the headline of each cluster, and with a message about changes if it is sent."""
    from kip848_records.report.changes import changes_of_clusters
    from kip848_records.report.headline import headlines
    from kip848_records.report.news import news

    verdict = found.verdict
    try:
        changes: Mapping[str, Changes] = {}
        if METRICS in files or is_sent or any(run.run > 1 for run in tables.chosen_runs(cluster)):
            changes = changes_of_clusters(tables, verdict.captured_at, settings)
        if is_sent:
            found = found._replace(message=news(tables, changes, verdict.limits))
            _note_undated(verdict, changes)
        return found._replace(heads=headlines(tables, verdict.captured_at, changes))
    except Kip848Error:
        raise
    except Exception as error:  # noqa: BLE001 - the results of the check stand
        return found._replace(errors=[*found.errors, UnexpectedError.of(error, "the comparison with the run before")])


def _told(arguments: Namespace, found: _Checked, webhooks: Sequence[Webhook]) -> int:
    """Print what was found, send the message, and return the exit code."""
    from kip848_records.report.check_json import check_line
    from kip848_records.report.check_terminal import check_terminal

    verdict = found.verdict
    is_too_unknown = _has_too_many_unknown(verdict, arguments.max_unknown)
    code = _code(verdict, found.errors, is_too_unknown=is_too_unknown)
    if arguments.json_line:
        print_parts([Text(check_line(verdict, code))])
    elif code or not arguments.quiet:
        print_parts(check_terminal(verdict, width(), is_verbose=arguments.verbose, heads=found.heads))
        print_parts(found.beside)
    for each in found.errors:
        print_error(each, is_traced=arguments.debug)
    if found.message is not None:
        _send(found.message, webhooks)
    return code


def _code(verdict: Verdict, errors: Sequence[Kip848Error], *, is_too_unknown: bool) -> int:
    """Return the exit code: that of the worst fault, before that of a failed expectation."""
    faults = [fault for result in verdict.results for fault in result.faults.values()]
    faults += [error for error in errors if isinstance(error, UnexpectedError)]
    failed = _FAILED if verdict.failed or is_too_unknown or errors else 0
    return max((fault.exit_code for fault in faults), default=failed)


def _webhooks(arguments: Namespace) -> list[Webhook]:
    if not arguments.webhook:
        return []
    from kip848_records.report.webhook import open_webhook

    return [open_webhook(url) for url in arguments.webhook]


def _note_undated(verdict: Verdict, changes: Mapping[str, Changes]) -> None:
    """Say of which clusters no message can come: nothing is known to change if no record has a time."""
    for cluster in verdict.captured_at:
        if cluster not in changes:
            print_note(f"no message about cluster {printable(cluster)}: its log has no times, so no changes are known")


def _send(message: News, webhooks: Sequence[Webhook]) -> None:
    """Send a message; one that is not delivered is a line on stderr, and never changes the verdict."""
    for webhook in webhooks:
        if (reason := webhook.send(message)) is not None:
            print(f"warning: the webhook {webhook.scheme}://... got no message: {printable(reason)}", file=sys.stderr)


def _has_too_many_unknown(verdict: Verdict, most: Limit | None) -> bool:
    """Return whether more results are unknown than `--max-unknown` allows; stderr then has the numbers."""
    unknown = sum(result.unknowns for result in verdict.results)
    checked = sum(result.checked for result in verdict.results)
    if most is None or not most.is_exceeded(unknown, checked):
        return False
    print(f"{unknown:,} of {checked:,} results are unknown, more than --max-unknown {most.text}", file=sys.stderr)
    return True


def _check(arguments: Namespace) -> None:
    """Raise InputError for invalid arguments, before any work is done."""
    for name in ("release", *_COMPARES_RUNS):
        if arguments.group is not None and getattr(arguments, name):
            raise InputError(f"--{name} is about all groups, and --group about one", "leave one of them out")
    if arguments.release is not None and arguments.select:
        raise InputError("--release evaluates one expectation, and --select another", "leave one of them out")
    check_tables(arguments, arguments.out)
    outputs = {f"--{name}": getattr(arguments, name) for name in ("out", *FORMATS)}
    before_spark.check_outputs(outputs, () if are_tables(arguments) else arguments.sources)
    if are_tables(arguments) is False:
        _check_kept(arguments)


def _check_kept(arguments: Namespace) -> None:
    """Raise InputError for an option that compares runs, if the tables of the log's audit are not kept."""
    if arguments.out is None:
        for name in _COMPARES_RUNS:
            if getattr(arguments, name):
                raise TablesError(
                    f"--{name} compares an audit with the one before, but the tables of this audit are not kept",
                    "pass --out DIR to keep them, or run kip848 audit first and check its folder",
                )
