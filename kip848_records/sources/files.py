"""Whether the tables of an audit would be among the files that it reads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kip848_records.errors import InputError
from kip848_records.sources.outputs import check_output

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.engines.engine import Engine
    from kip848_records.sources.listing import Copy

_OF_BROKER = re.compile(r"/(meta\.properties|__consumer_offsets-[^/]+)(?=/|$)")


def check_apart(engine: Engine, copies: Iterable[Copy], out: str) -> None:
    """Raise InputError if tables in the folder `out` would be in a copy of the log, or in a broker's data folder.

    On another file system, a broker's data folder is recognised by its partitions of `__consumer_offsets`.
    """
    listing = engine.listing()
    check_output("--out", out, [copy.name for copy in copies], listing.local)
    if listing.local(out) is None and (found := listing.files(out, "/{meta.properties,__consumer_offsets-*/*}")):
        raise InputError.output_in_broker_folder("--out", out, out, _OF_BROKER.findall(found[0])[-1])
