"""Work side by side: all of it is done, and what fails is told, before more is begun."""

from threading import Event
from time import sleep

import pytest

from kip848_records.spark.threads import for_each_parallel


def test_each_item_is_worked_on():
    done = []
    for_each_parallel(done.append, range(20))
    assert sorted(done) == list(range(20))


def test_after_a_failure_what_was_begun_ends_and_nothing_else_begins():
    may_end = Event()
    begun, ended = [], []

    def work(item):
        begun.append(item)
        if item == 1:
            may_end.set()
            raise ValueError(item)
        may_end.wait(5)
        sleep(0.01)
        ended.append(item)

    with pytest.raises(ValueError, match="1"):
        for_each_parallel(work, range(1000))
    assert len(begun) < 1000
    assert sorted(begun) == sorted([1, *ended])
