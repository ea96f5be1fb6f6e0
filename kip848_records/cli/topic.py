"""`kip848 topic`: what is in `__consumer_offsets`, who fills it, and whether the topic is healthy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.cli.arguments import add_quiet
from kip848_records.cli.audited import add_tables, check_tables, opened_tables
from kip848_records.cli.progress import shown_progress
from kip848_records.cli.sections import add_forms, evaluated, print_answers
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
    add_forms(command)
    add_quiet(command)
    command.set_defaults(run=_run)


def _run(arguments: Namespace) -> int:
    check_tables(arguments)
    from kip848_records.queries.needs import require
    from kip848_records.report.topic import NOT_COUNTED, as_json, sections

    with (
        shown_progress(arguments) as progress,
        opened_tables(arguments, progress) as (tables, cluster),
    ):
        progress.done()
        found = _contents(arguments, tables, cluster)
        print_answers(arguments, _TITLE, found, sections, as_json)
        for run in tables.chosen_runs(cluster):
            require(tables, run, ["topic_content"], "topic")
    if missing := [each.run.cluster for each in found if not each.is_counted]:
        raise InputError(
            f"what is in the topic of cluster {', '.join(missing)} is not counted: {NOT_COUNTED}",
            "name the live topic itself, one copy of its files, or a dump without overlaps",
        )
    return 0


def _contents(arguments: Namespace, tables: Tables, cluster: str | None) -> Sequence[TopicContents]:
    """Return the answers about the clusters whose audits counted."""
    from kip848_records.config import load_config
    from kip848_records.report.topic import CHECKS, contents

    expectations, settings = load_config(arguments.config, None)
    wanted = [each for each in expectations if each.name in CHECKS]
    found = []
    for run in filter(lambda run: run.topic_content, tables.chosen_runs(cluster)):
        results = evaluated(tables, settings, wanted, run.cluster)
        found.append(contents(tables, run, results, settings))
    return found
