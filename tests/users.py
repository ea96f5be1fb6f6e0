"""The environment of a user's process: what the tests set for their own session of Spark is not there."""

import os

_OURS = ("PYSPARK_", "SPARK_", "PYTHON")


def environment(**variables: str) -> dict[str, str]:
    """Return that of somebody who has set nothing about Spark or Python, with some variables."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_OURS)} | variables
