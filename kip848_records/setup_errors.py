"""What is wrong with a machine, not with what is to be read: Java, versions, jars, a session of someone else's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.errors import Kip848Error

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from typing_extensions import Self

_JAVA_HINT = (
    "install Java 17 or 21 (Debian, Ubuntu: apt-get install openjdk-17-jre-headless; "
    "macOS: brew install openjdk@17) or point JAVA_HOME at one"
)


class SetupError(Kip848Error):
    """The machine cannot run Spark as this package needs it: Java, versions, jars, settings."""

    @classmethod
    def no_spark(cls, module: str) -> Self:
        """The package was installed without its extra, and nothing else brought a Spark."""
        return cls(f"Spark is not installed: there is no module {module}", "pip install 'kip848-records[spark]'")

    @classmethod
    def java_missing(cls, java: str) -> Self:
        """No program answers at `java`, the command that Spark would run."""
        return cls(f"Spark needs Java, and '{java}' does not run", _JAVA_HINT)

    @classmethod
    def java_unsupported(cls, java: str, found: str) -> Self:
        """`java` runs, but Spark does not run on its version."""
        return cls(f"Spark needs Java 17 or 21, and '{java}' is {found}", _JAVA_HINT)

    @classmethod
    def versions_disagree(cls, found: str, coordinate: str, wanted: Iterable[str]) -> Self:
        """What is installed does not fit the jars that spark-defaults.conf names."""
        install = " ".join(f"'{requirement}'" for requirement in wanted)
        return cls(f"{found} does not fit {coordinate}", f"pip install {install}")

    @classmethod
    def other_spark_home(cls, home: str, pyspark: str) -> Self:
        """SPARK_HOME names a Spark other than the one that came with pyspark."""
        return cls(
            f"SPARK_HOME={home} holds no Spark {pyspark}, the version of the installed pyspark",
            "unset SPARK_HOME to run the Spark that came with pyspark",
        )

    @classmethod
    def jars_not_fetched(cls, jars: Iterable[str], log: Path) -> Self:
        """Ivy found no repository that has `jars` (organisation#name;version)."""
        return cls(
            f"Spark could not fetch {', '.join(jars)}",
            "connect this machine to a Maven repository, or name a mirror with "
            f"spark.jars.ivySettings or spark.jars.repositories (Ivy's report: {log})",
        )

    @classmethod
    def spark_did_not_start(cls, log: Path) -> Self:
        """The JVM ended before it opened its gateway, for a reason that only its log knows."""
        return cls("Spark did not start", f"see why in {log}")

    @classmethod
    def session_without_delta(cls) -> Self:
        """The session was started by someone else, and Delta's extension cannot be added later."""
        return cls(
            "this Spark session was started without Delta Lake's extension",
            "pass --properties-file conf/spark-defaults.conf to spark-submit, or put those settings into the session",
        )
