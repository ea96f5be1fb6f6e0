"""Spark's settings before Spark starts: those of its configuration folder, and those of PYSPARK_SUBMIT_ARGS."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kip848_records.paths import with_package
from kip848_records.properties import parse_properties
from kip848_records.setup_errors import SetupError

if TYPE_CHECKING:
    from collections.abc import Iterator

SUBMIT_ARGS: Final = "PYSPARK_SUBMIT_ARGS"
_DEFAULTS: Final = "spark-defaults.conf"
_CONF: Final = ("--conf", "-c")
_OPTIONS: Final = {
    "--driver-memory": "spark.driver.memory",
    "--jars": "spark.jars",
    "--packages": "spark.jars.packages",
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

    Raises SetupError if the file cannot be read.
    """
    file = spark_conf_dir() / _DEFAULTS
    try:
        found = parse_properties(file.read_text(encoding="utf-8")) if file.is_file() else {}
    except OSError as error:
        raise SetupError.settings_unreadable(str(file), error.strerror) from None
    except ValueError as error:  # it is not UTF-8, or has an escape that is none
        raise SetupError.settings_unreadable(str(file), str(error)) from None
    return {name: value.strip() for name, value in found.items()}


def submitted_settings() -> dict[str, str]:
    """Return the settings of PYSPARK_SUBMIT_ARGS, which take precedence over `default_settings`.

    Raises SetupError if a quote in it is not closed.
    """
    try:
        arguments = shlex.split(os.environ.get(SUBMIT_ARGS, ""))
    except ValueError as error:
        raise SetupError.settings_unreadable(SUBMIT_ARGS, str(error)) from None
    found = {}
    for option, value in _option_values(arguments):
        name, is_pair, setting = value.partition("=")
        if option in _OPTIONS:
            found[_OPTIONS[option]] = value.strip()
        elif option in _CONF and is_pair:
            found[name.strip()] = setting.strip()
    return found


def _option_values(arguments: list[str]) -> Iterator[tuple[str, str]]:
    """Yield options of `_OPTIONS` and `_CONF` with their values, given as `--name value` or `--name=value`."""
    rest = iter(arguments)
    for argument in rest:
        option, is_whole, value = argument.partition("=")
        if option in _OPTIONS or option in _CONF:
            yield option, value if is_whole else next(rest, "")
