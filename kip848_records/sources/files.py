"""Whether the tables of an audit would be among the files that it reads."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from kip848_records.errors import InputError
from kip848_records.machine.paths import local_path
from kip848_records.sources.outputs import check_output
from kip848_records.spark.files import list_spark_files

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

    from kip848_records.sources.listing import Copy

_OF_BROKER = re.compile(r"/(meta\.properties|__consumer_offsets-[^/]+)(?=/|$)")


def check_apart(spark: SparkSession, copies: Iterable[Copy], out: str) -> None:
    """Raise InputError if tables in the folder `out` would be in a copy of the log, or in a broker's data folder.

    On another file system, a broker's data folder is recognised by its partitions of `__consumer_offsets`.
    """
    sources = [copy.name for copy in copies]
    check_output("--out", out, sources, partial(local_path, spark))
    found = None
    if local_path(spark, out) is None:
        found = list_spark_files(spark, out, "/{meta.properties,__consumer_offsets-*/*}")
    if found:
        raise InputError.output_in_broker_folder("--out", out, out, _OF_BROKER.findall(found[0])[-1])
