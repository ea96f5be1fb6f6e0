"""The jars that Spark needs besides its own: `spark.jars.packages` of a configuration folder, and where they are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple


class DeltaJar(NamedTuple):
    """Delta's jar: its coordinate, the line of Spark that it was built for, and its release."""

    coordinate: str
    spark_line: str
    delta: str

    @property
    def requirements(self) -> tuple[str, str]:
        """What must be installed beside it, for pip."""
        return f"pyspark=={self.spark_line}.*", f"delta-spark=={self.delta}"


def delta_jar(conf: Path) -> DeltaJar | None:
    """Return the jar that a configuration folder names; None if it names none.

    Its coordinate has both versions: ``io.delta:delta-spark_<Spark>_<Scala>:<Delta>``.
    """
    found = re.search(r"io\.delta:delta-spark_(\d+\.\d+)_[\d.]+:([\w.]+)", _settings(conf))
    return None if found is None else DeltaJar(found[0], *found.groups())


def missing_jars(conf: Path, home: Path) -> list[str]:
    """Return the coordinates in `spark.jars.packages` whose jars are not in Ivy's folder, where Spark puts them.

    That folder is `spark.jars.ivy`; by default it begins with ``.ivy2`` in the user's `home`.
    """
    settings = _settings(conf)
    packages = re.search(r"^spark\.jars\.packages\s+(\S+)", settings, re.MULTILINE)
    ivy = re.search(r"^spark\.jars\.ivy\s+(\S+)", settings, re.MULTILINE)
    folders = [Path(ivy[1])] if ivy else [*home.glob(".ivy2*")]
    missing = []
    for coordinate in packages[1].split(",") if packages else ():
        organisation, name, version = coordinate.split(":")
        if not any((folder / "jars" / f"{organisation}_{name}-{version}.jar").is_file() for folder in folders):
            missing.append(coordinate)
    return missing


def driver_memory(conf: Path) -> int | None:
    """Return `spark.driver.memory` in bytes; None if it is not set."""
    found = re.search(r"^spark\.driver\.memory\s+(\d+)([kmgt])b?\s*$", _settings(conf), re.MULTILINE | re.IGNORECASE)
    return None if found is None else int(found[1]) << {"k": 10, "m": 20, "g": 30, "t": 40}[found[2].lower()]


def _settings(conf: Path) -> str:
    file = conf / "spark-defaults.conf"
    return file.read_text(encoding="utf-8") if file.is_file() else ""
