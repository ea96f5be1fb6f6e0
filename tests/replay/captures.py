"""The captures' records, as Kafka's own dump has them, and their rows."""

from functools import cache
from pathlib import Path
from typing import Any

from tests.dump_log import read_dump_logs
from tests.replay.logs import Rows, inputs_of, replayed

FOLDER = Path(__file__).parents[1] / "captures"
NAMES = tuple(sorted(oracle.parent.name for oracle in FOLDER.glob("*/oracle")))
CAPTURED_AT = 1_795_249_300_000
"""After every record of the captures, in ms since 1970."""
_FIRST_OF_GROUPS = 2


@cache
def capture_records(name: str) -> list[dict[str, Any]]:
    """Without offset commits."""
    return [
        record for record in read_dump_logs(FOLDER / name / "oracle/dump-log") if record["type"] >= _FIRST_OF_GROUPS
    ]


@cache
def capture_rows(name: str) -> Rows:
    records = capture_records(name)
    return replayed(records, inputs_of(dict.fromkeys({record["partition"] for record in records}, 0), CAPTURED_AT))
