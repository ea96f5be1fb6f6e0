"""Errors of the machine rather than of the input: Java, versions, jars, a session of another application."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from kip848_records.errors import Kip848Error

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


_JAVA_HINT = (
    "install Java 17 or 21 (Debian, Ubuntu: apt-get install openjdk-17-jre-headless; "
    "macOS: brew install openjdk@17), or set JAVA_HOME to an installed one"
)


class SetupError(Kip848Error):
    """The machine cannot run Spark as this package requires: Java, versions, jars, settings."""

    @classmethod
    def no_spark(cls, module: str) -> Self:
        """The package was installed without its extra, and PySpark is not installed otherwise."""
        return cls(f"Spark is not installed: there is no module {module}", "pip install 'kip848-records[spark]'")

    @classmethod
    def no_apprise(cls) -> Self:
        """The package was installed without the extra that sends to webhooks."""
        return cls("--webhook needs Apprise, which is not installed", "pip install 'kip848-records[notify]'")

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
    def java_missing(cls, java: str) -> Self:
        """The command `java`, which Spark would run, does not run."""
        return cls(f"Spark needs Java, but '{java}' does not run", _JAVA_HINT)

    @classmethod
    def java_unsupported(cls, java: str, found: str) -> Self:
        """`java` runs, but Spark does not support its version."""
        return cls(f"Spark needs Java 17 or 21, but '{java}' is {found}", _JAVA_HINT)

    @classmethod
    def versions_disagree(cls, found: str, coordinate: str, wanted: Iterable[str]) -> Self:
        """The installed version does not match the jars in spark-defaults.conf."""
        install = " ".join(f"'{requirement}'" for requirement in wanted)
        return cls(f"{found} does not match {coordinate}", f"pip install {install}")

    @classmethod
    def settings_unreadable(cls, where: str, reason: str | None) -> Self:
        """Spark's settings, in a file or a variable, cannot be read."""
        return cls(f"Spark's settings in {where} cannot be read: {reason}", "correct them, or remove them")

    @classmethod
    def other_spark_home(cls, home: str, pyspark: str) -> Self:
        """SPARK_HOME names another Spark than the one of the installed pyspark."""
        return cls(
            f"SPARK_HOME={home} is not Spark {pyspark}, the version of the installed pyspark",
            "unset SPARK_HOME to run the Spark of the installed pyspark",
        )

    @classmethod
    def jars_not_fetched(cls, jars: Iterable[str], log: Path) -> Self:
        """Ivy found no repository that has `jars` (organisation#name;version)."""
        return cls(
            f"Spark could not fetch {', '.join(jars)}",
            "connect this machine to a Maven repository, name a mirror with spark.jars.ivySettings or "
            f"spark.jars.repositories, or bring the jars as docs/install.md says (Ivy's report: {log})",
        )

    @classmethod
    def spark_did_not_start(cls, log: Path) -> Self:
        """The JVM ended before it opened its gateway; its log has the reason."""
        return cls("Spark did not start", f"see the reason in {log}")

    @classmethod
    def session_without_delta(cls) -> Self:
        """Another application started the session, and Delta's extension cannot be added later."""
        return cls(
            "this Spark session was started without Delta Lake's extension",
            "pass --properties-file conf/spark-defaults.conf to spark-submit, or add those settings to the session",
        )
