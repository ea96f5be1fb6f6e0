"""The jars that Spark needs besides its own: those of the setting `spark.jars.packages`, and where they are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.spark.setup_errors import SetupError

if TYPE_CHECKING:
    from collections.abc import Mapping

_PACKAGES: Final = "spark.jars.packages"
_PARTS: Final = 3


class DeltaJar(NamedTuple):
    """Delta's jar: its coordinate, the line of Spark that it was built for, and its release."""

    coordinate: str
    spark_line: str
    delta: str

    def mismatch(self, pyspark: str, delta: str) -> SetupError | None:
        """Return the error if other versions are installed than those that the jar needs; None if they fit."""
        if pyspark.startswith(f"{self.spark_line}.") and delta == self.delta:
            return None
        found = f"pyspark {pyspark} with delta-spark {delta}"
        install = f"pip install 'pyspark=={self.spark_line}.*' 'delta-spark=={self.delta}'"
        return SetupError(f"{found} does not match {self.coordinate}", install)


def delta_jar(settings: Mapping[str, str]) -> DeltaJar | None:
    """Return the jar that Spark's settings name; None if they name none.

    Its coordinate has both versions: ``io.delta:delta-spark_<Spark>_<Scala>:<Delta>``.
    """
    found = re.search(r"io\.delta:delta-spark_(\d+\.\d+)_[\d.]+:([\w.]+)", settings.get(_PACKAGES, ""))
    return None if found is None else DeltaJar(found[0], *found.groups())


def missing_jars(settings: Mapping[str, str], home: Path) -> list[str]:
    """Return the coordinates in `spark.jars.packages` whose jars are not in Ivy's folder, where Spark puts them.

    That folder is `spark.jars.ivy`; by default it begins with ``.ivy2`` in the user's `home`. A coordinate that has not
    three parts is skipped: Spark refuses it with a message of its own.
    """
    ivy = settings.get("spark.jars.ivy")
    folders = [Path(ivy)] if ivy else [*home.glob(".ivy2*")]
    missing = []
    for coordinate in re.split(r",\s*", settings.get(_PACKAGES, "")):
        parts = coordinate.strip().split(":")
        if len(parts) != _PARTS:
            continue
        organisation, name, version = parts
        if not any((folder / "jars" / f"{organisation}_{name}-{version}.jar").is_file() for folder in folders):
            missing.append(":".join(parts))
    return missing
