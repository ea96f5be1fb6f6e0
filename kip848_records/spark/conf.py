"""Spark's settings before Spark starts: those of its configuration folder, and those of PYSPARK_SUBMIT_ARGS."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kip848_records.machine.paths import with_package
from kip848_records.settings.properties import parse_properties
from kip848_records.spark.setup_errors import SetupError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

SUBMIT_ARGS: Final = "PYSPARK_SUBMIT_ARGS"
_DEFAULTS: Final = "spark-defaults.conf"
_CONF: Final = ("--conf", "-c")
_PROPERTIES_FILE: Final = "--properties-file"
_LOAD_DEFAULTS: Final = "--load-spark-defaults"
_OPTIONS: Final = {
    "--driver-java-options": "spark.driver.extraJavaOptions",
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
