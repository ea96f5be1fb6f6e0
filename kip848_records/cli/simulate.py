"""`kip848 simulate`: write a log of simulated groups for experiments."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from kip848_records.cli import before_spark
from kip848_records.cli.arguments import add_debug, given_path
from kip848_records.errors import InputError
from kip848_records.simulate import RELEASES, Simulation, simulate
from kip848_records.simulate.spec import MIN_HOURS_OF_OTHERS, MOST_MEMBERS, OTHER_KINDS

if TYPE_CHECKING:
    from argparse import Namespace

    from kip848_records.cli.arguments import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    command = commands.add_parser(
        "simulate",
        help="write a log of simulated groups for experiments",
        description="Writes the log of simulated groups as Parquet files.",
    )
    command.add_argument("--groups", type=int, default=20, metavar="N", help="how many consumer groups (%(default)s)")
    for kind in OTHER_KINDS:
        command.add_argument(kind.option, type=int, default=0, metavar="N", help=f"how many {kind.words} (%(default)s)")
    command.add_argument(
        "--members", type=int, default=5, metavar="M", help="mean members per consumer group (%(default)s)"
    )
    command.add_argument(
        "--hours",
        type=float,
        default=1.0,
        metavar="H",
        help="simulated time in hours (%(default)s); with other kinds than consumer groups, at least "
        f"{MIN_HOURS_OF_OTHERS}",
    )
    command.add_argument("--seed", type=int, default=0, metavar="S", help="one seed, one log (%(default)s)")
    command.add_argument("--release", choices=RELEASES, default="4.3", help="Kafka release to simulate (%(default)s)")
    command.add_argument(
        "--largest",
        type=int,
        metavar="M",
        help="instead of --members: group sizes follow a power law, from 1 to M; the first group has M",
    )
    command.add_argument("--compacted", action="store_true", help="compact the older part of the log, as brokers do")
    command.add_argument(
        "--out", required=True, type=given_path, metavar="DIR", help="folder of the log and topics.json"
    )
    add_debug(command)
    command.set_defaults(run=_run)


def _run(arguments: Namespace) -> int:
    before_spark.check_outputs({"--out": arguments.out})
    if arguments.largest == 0:  # Simulation reads 0 as "not given"
        raise InputError.not_simulated("largest", 0, 1, MOST_MEMBERS)
    names = ["groups", "members", "hours", "seed", "release", "largest", "compacted"]
    names += [kind.field for kind in OTHER_KINDS]
    spec = Simulation(**{name: given for name in names if (given := getattr(arguments, name)) is not None})
    simulated = simulate(spec, arguments.out, processes=1 if spec.is_small else os.cpu_count() or 1)
    print(f"{simulated.rows:,} log rows in {simulated.log}")
    if simulated.rows == 1:  # the offset commit at the end of a log without consumer groups
        print("note: no group did anything in this time; pass more --hours", file=sys.stderr)
    print(f"to audit them: kip848 audit {simulated.log} --topics {simulated.topics} --out TABLES")
    return 0
