"""`kip848 topic`: what is in `__consumer_offsets`, who fills it, and whether the topic is healthy."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kip848_records.cli.arguments import add_quiet
from kip848_records.cli.audited import add_tables, check_tables, opened_tables
from kip848_records.cli.output import print_parts
from kip848_records.cli.progress import shown_progress
from kip848_records.errors import InputError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from kip848_records.cli.arguments import Commands
    from kip848_records.queries.tables import Tables
    from kip848_records.report.topic import TopicContents

_TITLE = "What is in __consumer_offsets"


def add(commands: Commands) -> None:
    """Add the command."""
    command = commands.add_parser(
        "topic",
        help="what is in __consumer_offsets itself: who fills it, what is superseded, whether it is healthy",
        description="Says what __consumer_offsets holds, by type, group, topic and partition: live keys and superseded "
        "records, who commits most, commits that change nothing, offsets of groups and topics that are gone, the "
        "largest batch, transactions without a marker. Of a log, or of the tables of an audit with --topic-content.",
    )
    add_tables(command, needs_topic_content=True)
    form = command.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object per cluster")
    form.add_argument("--markdown", action="store_true", help="print Markdown, as for a ticket")
    add_quiet(command)
    command.set_defaults(run=_run)


def _run(arguments: Namespace) -> int:
    check_tables(arguments)
    from kip848_records.report.sections import captured_text, sections_markdown, sections_terminal
    from kip848_records.report.topic import NOT_COUNTED, as_json, sections

    with (
        shown_progress(arguments) as progress,
        opened_tables(arguments, progress) as (tables, cluster),
    ):
        progress.done()
        found = _contents(arguments, tables, cluster)
    for each in found:
        if arguments.json:
            from kip848_records.report.terminal import plain_text

            print(json.dumps(as_json(each), default=plain_text, ensure_ascii=False))
        elif arguments.markdown:
            print(sections_markdown(f"{_TITLE}: {captured_text(each.run)}", sections(each)), end="")
        else:
            print_parts(sections_terminal(captured_text(each.run), sections(each)))
    if missing := [each.run.cluster for each in found if not each.is_counted]:
        raise InputError(
            f"what is in the topic of cluster {', '.join(missing)} is not counted: {NOT_COUNTED}",
            "name the live topic itself, one copy of its files, or a dump without overlaps",
        )
    return 0


def _contents(arguments: Namespace, tables: Tables, cluster: str | None) -> Sequence[TopicContents]:
    from kip848_records.check import check
    from kip848_records.config import load_config
    from kip848_records.queries.needs import require
    from kip848_records.report.topic import CHECKS, contents

    expectations, settings = load_config(arguments.config, None)
    wanted = [each for each in expectations if each.name in CHECKS]
    found = []
    for run in tables.chosen_runs(cluster):
        require(tables, run, ["topic_content"], "topic")
        results = check(tables, settings, expectations=wanted, cluster=run.cluster).results
        for fault in (fault for result in results for fault in result.faults.values()):
            raise fault
        found.append(contents(tables, run, results, settings["hanging_transaction"]))
    return found
