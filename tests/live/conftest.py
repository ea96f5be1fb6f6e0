"""A log of two days, and its tables after one run over all of it, for every test that asks."""

from types import SimpleNamespace

import pytest

from tests.live import two_days
from tests.live.topics import ends_of, tables


@pytest.fixture(scope="session")
def log(spark, tmp_path_factory):
    """`folder`: where it is; `ends`: where its partitions end; `tables`: what one run makes of it."""
    folder = tmp_path_factory.mktemp("two-days")
    two_days.write(folder)
    topic = two_days.topic(spark, folder, {})
    topic.until = ends_of(topic.rows)
    topic.audit(folder / "once")
    return SimpleNamespace(folder=folder, ends=topic.until, tables=tables(folder / "once"))
