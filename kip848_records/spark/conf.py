"""Spark's settings before it starts, those of its folder and of PYSPARK_SUBMIT_ARGS, and the jars that they name."""

from __future__ import annotations

import os
import re
import shlex
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kip848_records.machine.paths import with_package
from kip848_records.settings.properties import parse_properties
from kip848_records.spark.setup_errors import SetupError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

SUBMIT_ARGS: Final = "PYSPARK_SUBMIT_ARGS"
PY_FILES: Final = "spark.submit.pyFiles"
_PACKAGES: Final = "spark.jars.packages"
_DEFAULTS: Final = "spark-defaults.conf"
_CONF: Final = ("--conf", "-c")
_PROPERTIES_FILE: Final = "--properties-file"
_LOAD_DEFAULTS: Final = "--load-spark-defaults"
_OPTIONS: Final = {
    "--driver-java-options": "spark.driver.extraJavaOptions",
    "--driver-memory": "spark.driver.memory",
    "--jars": "spark.jars",
    "--packages": _PACKAGES,
    "--py-files": PY_FILES,
}
"""Options of spark-submit that stand for a setting."""


def conf_dir() -> Path:
    """Return the folder of this package's settings: in the wheel, or beside a source checkout."""
    return with_package("conf", "conf")


def spark_conf_dir() -> Path:
    """Return Spark's configuration folder: the one that SPARK_CONF_DIR names, else that of this package."""
    return Path(os.environ.get("SPARK_CONF_DIR") or conf_dir())


def default_settings() -> dict[str, str]:
    """Return the settings of `spark-defaults.conf` in `spark_conf_dir`, which Spark reads as Java's properties.

    If PYSPARK_SUBMIT_ARGS has `--properties-file`, that file takes its place; with `--load-spark-defaults` the settings
    of both count, and that file takes precedence. Raises SetupError if a file cannot be read.
    """
    arguments = _submit_arguments()
    defaults = spark_conf_dir() / _DEFAULTS
    named = dict(_option_values(arguments, (_PROPERTIES_FILE,))).get(_PROPERTIES_FILE)
    if named is not None:
        return (_read(defaults) if _LOAD_DEFAULTS in arguments else {}) | _read(Path(named), is_needed=True)
    return _read(defaults)


def _read(file: Path, *, is_needed: bool = False) -> dict[str, str]:
    try:
        found = parse_properties(file.read_text(encoding="utf-8")) if is_needed or file.is_file() else {}
    except OSError as error:
        raise SetupError.settings_unreadable(str(file), error.strerror) from None
    except ValueError as error:  # it is not UTF-8, or has an escape that is none
        raise SetupError.settings_unreadable(str(file), str(error)) from None
    return {name: value.strip() for name, value in found.items()}


def submitted_settings() -> dict[str, str]:
    """Return the settings of PYSPARK_SUBMIT_ARGS, which take precedence over `default_settings`.

    Raises SetupError if a quote in it is not closed.
    """
    found = {}
    for option, value in _option_values(_submit_arguments(), (*_OPTIONS, *_CONF)):
        name, is_pair, setting = value.partition("=")
        if option in _OPTIONS:
            found[_OPTIONS[option]] = value.strip()
        elif option in _CONF and is_pair:
            found[name.strip()] = setting.strip()
    return found


def _submit_arguments() -> list[str]:
    try:
        return shlex.split(os.environ.get(SUBMIT_ARGS, ""))
    except ValueError as error:
        raise SetupError.settings_unreadable(SUBMIT_ARGS, str(error)) from None


def _option_values(arguments: list[str], options: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the values of some options, given as `--name value` or `--name=value`."""
    rest = iter(arguments)
    for argument in rest:
        option, is_whole, value = argument.partition("=")
        if option in options:
            yield option, value if is_whole else next(rest, "")


def check_versions() -> tuple[str, str]:
    """Return the installed versions of PySpark and Delta's package.

    Raises SetupError if one is not installed, if they do not match Delta's jar, whose coordinate has both versions
    (``io.delta:delta-spark_<Spark>_<Scala>:<Delta>``), or if SPARK_HOME is another Spark than that of the jar.
    """
    try:
        spark, delta = version("pyspark"), version("delta-spark")
    except PackageNotFoundError:
        raise SetupError.no_spark("delta") from None
    jar = re.search(r"io\.delta:delta-spark_(\d+\.\d+)_[\d.]+:([\w.]+)", default_settings().get(_PACKAGES, ""))
    if jar is None:  # the user's own configuration folder, with jars of its own
        return spark, delta
    if not (spark.startswith(f"{jar[1]}.") and delta == jar[2]):
        raise SetupError(
            f"pyspark {spark} with delta-spark {delta} does not match {jar[0]}",
            f"pip install 'pyspark=={jar[1]}.*' 'delta-spark=={jar[2]}'",
        )
    home = os.environ.get("SPARK_HOME")
    if home and not any(Path(home).glob(f"jars/spark-core_*-{spark}.jar")):
        raise SetupError(
            f"SPARK_HOME={home} is not Spark {spark}, the version of the installed pyspark",
            "unset SPARK_HOME to run the Spark of the installed pyspark",
        )
    return spark, delta


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
        if len(parts) != 3:  # noqa: PLR2004 - group, name, version
            continue
        organisation, name, version = parts
        if not any((folder / "jars" / f"{organisation}_{name}-{version}.jar").is_file() for folder in folders):
            missing.append(":".join(parts))
    return missing
