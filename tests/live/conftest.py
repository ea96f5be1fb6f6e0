"""A log of two days, and its tables after one run over all of it, for every test that asks."""

from functools import cached_property

import pytest

from tests.live import two_days
from tests.live.topics import ends_of, tables


class TwoDays:
    """`folder`: where the log is; `ends`: where its partitions end; `once`, `tables`: what one run makes of it."""

    def __init__(self, spark, folder):
        self.folder = folder
        two_days.write(folder)
        self._topic = two_days.topic(spark, folder, {})
        self.ends = self._topic.until = ends_of(self._topic.rows)

    @cached_property
    def once(self):
        self._topic.audit(self.folder / "once")
        return self.folder / "once"

    @cached_property
    def tables(self):
        return tables(self.once)


@pytest.fixture(scope="session")
def log(spark, tmp_path_factory):
    return TwoDays(spark, tmp_path_factory.mktemp("two-days"))
