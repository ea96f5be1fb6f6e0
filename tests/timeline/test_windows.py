"""Windows in NumPy, against the same in plain Python, row by row."""

import numpy as np
import pyarrow as pa
import pytest

from kip848_records.timeline.windows import NONE, NULL, Window, arrow, holds_of, lists_by_row, ms_between, of_rows

ROWS = 200


@pytest.fixture(params=["together", "scattered", "one code", "all different"])
def codes(request):
    drawn = np.random.default_rng(4).integers(0, 9, ROWS)
    return {
        "together": np.sort(drawn),
        "scattered": drawn,
        "one code": np.zeros(ROWS, np.int64),
        "all different": np.arange(ROWS)[::-1].copy(),
    }[request.param]


@pytest.fixture
def where():
    return np.random.default_rng(5).random(ROWS) < 0.3


@pytest.fixture
def values():
    drawn = np.random.default_rng(6)
    return np.where(drawn.random(ROWS) < 0.2, NULL, drawn.integers(-1, 50, ROWS))


def plainly(codes, function):
    """What a function says of the rows of a row's window: those before it, itself, and those after."""
    windows = {code: np.flatnonzero(codes == code).tolist() for code in set(codes.tolist())}
    return [
        function([other for other in windows[code] if other < row], row, [o for o in windows[code] if o > row])
        for row, code in enumerate(codes.tolist())
    ]


def test_other_rows(codes, where):
    window = Window(codes)

    def last(rows):
        return max((row for row in rows if where[row]), default=NONE)

    assert window.last(where).tolist() == plainly(codes, lambda before, row, _: last([*before, row]))
    assert window.last(where, before=True).tolist() == plainly(codes, lambda before, *_: last(before))
    following = plainly(codes, lambda _, row, after: min((r for r in [row, *after] if where[r]), default=NONE))
    assert window.next(where).tolist() == following
    first = plainly(codes, lambda before, row, _: min((r for r in [*before, row] if where[r]), default=NONE))
    assert window.first(where).tolist() == first
    assert window.previous().tolist() == plainly(codes, lambda before, *_: max(before, default=NONE))
    assert window.following().tolist() == plainly(codes, lambda *rows: min(rows[-1], default=NONE))


def test_values(codes, where, values):
    window = Window(codes)
    whole = np.where(values == NULL, 0, values)
    sums = plainly(codes, lambda before, row, _: sum(whole[[*before, row]]))
    assert window.running_sum(whole).tolist() == sums
    assert (window.running_sum(whole) - whole).tolist() == window.running_sum(whole, before=True).tolist()
    assert window.running_sum(where).tolist() == plainly(codes, lambda before, row, _: sum(where[[*before, row]]))
    assert window.running_max(values).tolist() == plainly(codes, lambda before, row, _: max(values[[*before, row]]))
    before = plainly(codes, lambda before, *_: max(values[before], default=NULL))
    assert window.running_max(values, before=True).tolist() == before
    of_all = [[*before, row, *after] for before, row, after in plainly(codes, lambda *rows: rows)]
    assert window.max(values).tolist() == [max(values[rows]) for rows in of_all]
    assert window.min(values).tolist() == [min(values[rows]) for rows in of_all]
    assert window.any(where).tolist() == [any(where[rows]) for rows in of_all]


def test_rows_that_are_together_need_no_sorting(codes, values):
    in_order = np.sort(codes)
    sorted_here, told = Window(in_order), Window(in_order, are_together=True)
    assert sorted_here.running_max(values).tolist() == told.running_max(values).tolist()


def test_no_rows():
    none = np.zeros(0, np.int64)
    window = Window(none)
    for found in (window.last(none == 0), window.running_max(none), window.max(none), window.first(none == 0)):
        assert not len(found)
    assert of_rows(none, np.array([NONE])).tolist() == [NULL]
    assert holds_of(none == 0, np.array([NONE])).tolist() == [False]


def test_nulls():
    assert ms_between(np.array([1_999, NULL, 5_000]), np.array([3_000, 7, 0])).tolist() == [2, NULL, -5]
    assert arrow(np.array([3, NULL]), pa.int32()).to_pylist() == [3, None]


def test_lists():
    assert lists_by_row(pa.array([*"abc"]), np.array([0, 2, 2]), 4).to_pylist() == [["a"], [], ["b", "c"], []]
