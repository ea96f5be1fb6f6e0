"""The command `kip848`, as it is installed: Spark, which it needs, is one of the package's extras."""

from __future__ import annotations

import sys

from kip848_records.setup_errors import SetupError


def main() -> int:
    """Run the command line; return its exit code, 2 where there is no PySpark or no Delta."""
    try:
        from kip848_records import cli  # noqa: PLC0415 - not before it is known to be there
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.split(".")[0] not in {"delta", "pyspark"}:
            raise
        failure = SetupError.no_spark(missing.name)
        print(f"error: {failure.message}\nhint: {failure.hint}", file=sys.stderr)  # noqa: T201 - what a command does
        return failure.exit_code
    return cli.main()
