"""Errors of the machine rather than of the input: Java, versions, jars, a session of another application."""

from __future__ import annotations

from typing import Self

from kip848_records.errors import Kip848Error


class SetupError(Kip848Error):
    """The machine cannot run Spark as this package requires: Java, versions, jars, settings."""

    @classmethod
    def no_spark(cls, module: str) -> Self:
        """The package was installed without its extra, and PySpark is not installed otherwise."""
        return cls(f"Spark is not installed: there is no module {module}", "pip install 'kip848-records[spark]'")

    @classmethod
    def of_missing_module(cls, error: BaseException) -> Self | None:
        """Return the error for an import that failed because PySpark or Delta is missing; None for other errors."""
        name = error.name if isinstance(error, ModuleNotFoundError) else None
        return cls.no_spark(name) if name and name.split(".")[0] in {"delta", "py4j", "pyspark"} else None

    @classmethod
    def other_system(cls, system: str) -> Self:
        """Spark's workers, locks and signals are used as they are on Linux and macOS."""
        return cls(f"kip848 runs on Linux and macOS, not on {system}", "use WSL 2, or a container with Linux")

    @classmethod
    def settings_unreadable(cls, where: str, reason: str | None) -> Self:
        """Spark's settings, in a file or a variable, cannot be read."""
        return cls(f"Spark's settings in {where} cannot be read: {reason}", "correct them, or remove them")
