"""A log of two days, and its tables after one run over all of it, for every test that asks."""

from functools import cached_property

import pytest

from tests.live import two_days
from tests.live.topics import Topic, ends_of, tables


class TwoDays:
    """`folder`: where the log is; `ends`: where its partitions end; `once`, `tables`: what one run makes of it."""

    def __init__(self, folder):
        self.folder = folder
        two_days.write(folder)
        self._topic = two_days.topic(folder, {})
        self.ends = self._topic.until = ends_of(self._topic.rows)

    @cached_property
    def once(self):
        self._topic.audit(self.folder / "once")
        return self.folder / "once"

    @cached_property
    def tables(self):
        return tables(self.once)


@pytest.fixture(scope="session")
def log(tmp_path_factory):
    return TwoDays(tmp_path_factory.mktemp("two-days"))


@pytest.fixture(params=["embedded", pytest.param("spark", marks=pytest.mark.nightly)])
def each_engine(request, monkeypatch):
    """Both engines, one after the other; what a fixture of a module has audited, the embedded one has."""
    if request.param == "spark":
        monkeypatch.setattr(Topic, "spark", request.getfixturevalue("spark"))
    return request.param
