"""What a test says of rows that differ."""

from tests.equal_rows import Rows, differences


def test_the_order_of_rows_does_not_matter_and_their_number_does():
    one, two = {"offset": 1, "state": "Stable"}, {"offset": 2, "state": "Empty"}
    assert Rows([one, two]) == Rows([two, one])
    assert Rows([one, one]) != Rows([one])
    assert Rows([one]) != Rows([one | {"offset": "1"}])


def test_a_difference_is_shown_by_column_beside_the_row_that_is_most_like_it():
    found = {"epochs": Rows([{"epoch": 1, "status": "open"}, {"epoch": 2, "status": "open"}])}
    expected = {"epochs": Rows([{"epoch": 1, "status": "open"}, {"epoch": 2, "status": "converged"}])}
    assert differences(found, expected) == [
        "equal tables",
        "epochs: 1 rows are not expected, 1 are missing",
        "epochs:   found    status: 'open'",
        "epochs:   expected status: 'converged'",
        "epochs:   in       epoch: 2",
    ]
    assert differences(1, 2) is None
