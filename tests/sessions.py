"""The two kinds of Spark session: one in the process of the JVM, and one that asks it over Spark Connect."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pyspark.sql import SparkSession

CLASSIC, CONNECT = "classic", "connect"
BOTH = pytest.mark.parametrize("spark", [CLASSIC, CONNECT], indirect=True, scope="session")
"""A mark of the few tests that run on both: they ask on Connect what this package uses of PySpark."""
ON_CONNECT = pytest.mark.parametrize("spark", [CONNECT], indirect=True, scope="session")


@contextmanager
def mode(kind: str) -> Iterator[None]:
    """Let Spark's functions make columns for this kind of session: PySpark goes by the environment."""
    with pytest.MonkeyPatch.context() as patch:
        if kind == CONNECT:
            patch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
        else:
            patch.delenv("SPARK_CONNECT_MODE_ENABLED", raising=False)
        yield


def kind_of(item: pytest.Item) -> str:
    """Return the kind of session that a test asks for."""
    callspec = getattr(item, "callspec", None)
    return callspec.params.get("spark", CLASSIC) if callspec else CLASSIC


def connected(classic: SparkSession) -> SparkSession:
    """Return a session of Spark Connect, of a server in the JVM of another session: it has the same settings."""
    jvm = classic.sparkContext._jvm
    jvm.org.apache.spark.SparkEnv.get().conf().set("spark.connect.grpc.binding.port", "0")
    service = getattr(getattr(jvm.org.apache.spark.sql.connect.service, "SparkConnectService$"), "MODULE$")
    service.start(classic.sparkContext._jsc.sc())
    from pyspark.sql.connect.session import SparkSession as ConnectSession  # noqa: PLC0415 - gRPC is for tests alone

    return ConnectSession.builder.remote(f"sc://localhost:{service.localPort()}").create()
