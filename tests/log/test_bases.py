"""With which of several copies history starts, and when others lead up to it."""

from dataclasses import replace

import pytest

from kip848_records.log.bases import choose_base, coverage_of, is_led_up_to
from kip848_records.log.extents import Extent, Gap, Unread

WHOLE = Extent(0, "whole", 0, 9, log_start_missing=False)


def copy(name, first, last, *, gapless=None, repeated=None, missing=False):  # noqa: PLR0913
    """A copy that was compacted, or is a dump that does not tell."""
    gaps = None if gapless is None else (Gap(gapless - 1, gapless, is_in_file=True),)
    return Extent(0, name, first, last, missing, gaps, repeated)


def base(*extents):
    """The same base in every order."""
    assert choose_base(extents) is choose_base(extents[::-1])
    return choose_base(extents).copy


def test_the_one_that_is_complete_the_longest():
    assert base(WHOLE, copy("later", 0, 9, gapless=4, repeated=6)) == "whole"
    assert base(copy("a", 0, 9, gapless=4, repeated=6), copy("b", 0, 9, gapless=4)) == "a"


def test_one_that_another_goes_on_from():
    # The later one was compacted: from 8 on it has all, whatever the state was there.
    assert base(WHOLE, copy("later", 0, 20, gapless=8, repeated=15)) == "whole"
    assert base(WHOLE, copy("later", 0, 20, gapless=10, repeated=15)) == "whole"
    assert base(WHOLE, copy("later", 0, 20, gapless=11, repeated=15)) == "later"
    # Over a third copy.
    assert base(WHOLE, copy("b", 0, 14, gapless=7, repeated=12), copy("c", 0, 20, gapless=15)) == "whole"


def test_a_copy_of_which_only_the_end_is_known_may_be_gone_on_from():
    assert base(copy("a", 0, 9, gapless=4), copy("b", 0, 20, gapless=10, repeated=16)) == "a"
    assert base(copy("a", 0, 9, gapless=4), copy("b", 0, 20, gapless=11, repeated=16)) == "b"


def test_none_whose_start_is_missing_nor_a_damaged_one_if_there_is_another():
    late = copy("late", 5, 9, gapless=5, repeated=5, missing=True)
    assert base(late, copy("b", 0, 9, gapless=8)) == "b"
    damaged = replace(WHOLE, copy="damaged", unread=(Unread(1, 3, "bad_crc"),))
    assert base(damaged, copy("b", 0, 9, gapless=8)) == "b"
    assert base(damaged, late) == "damaged"


DUMPS = copy("a", 0, 9), copy("b", 10, 20, missing=None)


def base_of(extents, *, lacks_records=False):
    (found,) = [each for each in coverage_of(extents, extents[-1], lacks_records=lacks_records) if each.is_base]
    return found.copy, found.stale_from, found.log_start_missing


def test_a_dump_that_goes_on_where_another_ended():
    assert base_of(DUMPS) == ("b", 10, False)
    assert {each.stale_from for each in coverage_of(DUMPS, DUMPS[-1], lacks_records=False)} == {None, 10}


def test_one_that_lacks_records_was_compacted_and_says_of_the_others_too():
    assert base_of(DUMPS, lacks_records=True) == ("b", 0, None)


def test_behind_a_gap_the_start_of_the_log_is_missing():
    assert base_of((DUMPS[0], copy("b", 11, 20, missing=None))) == ("b", 0, True)
    assert base_of((DUMPS[0], copy("b", 11, 20, missing=False))) == ("b", 0, False)


@pytest.mark.parametrize(
    ("between", "expected"), [((8, 15), True), ((10, 14), True), ((11, 15), False), ((10, 13), False)]
)
def test_copies_that_lead_up_to_the_base(between, expected):
    last = copy("z", 15, 20)
    assert is_led_up_to(last, [last, DUMPS[0], copy("between", *between)]) == expected
