"""Work side by side: all of it is done, and what fails is told, before more is begun."""

from threading import Event
from time import sleep

import pytest

from kip848_records.spark.threads import both, in_order, several


def test_each_item_is_worked_on():
    done = []
    several(done.append, range(20))
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
        several(work, range(1000))
    assert len(begun) < 1000
    assert sorted(begun) == sorted([1, *ended])


def test_results_come_in_the_order_of_the_items():
    second_is_done = Event()

    def work(item):
        second_is_done.set() if item == 2 else second_is_done.wait(5)
        return item * 10

    assert list(in_order(work, [1, 2, 3])) == [10, 20, 30]


def test_both_are_done_and_return_what_they_made():
    other = Event()
    assert both(lambda: other.wait(5), lambda: other.set() or "second") == (True, "second")


@pytest.mark.parametrize("failing", ["first", "second"])
def test_one_of_both_fails(failing):
    ended = []

    def work(name):
        if name == failing:
            raise ValueError(name)
        ended.append(name)

    with pytest.raises(ValueError, match=failing):
        both(lambda: work("first"), lambda: work("second"))
    assert len(ended) == 1
