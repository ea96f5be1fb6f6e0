import pytest

from kip848_records.text import printable, similar_hint, similar_names


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a [b] \N{SNAKE}", "a [b] \N{SNAKE}"),
        ("a\nb\x1b[31m", r"a\nb\x1b[31m"),
        ("\x7f\x9b2J\u2028\u202e", r"\x7f\x9b2J\u2028\u202e"),
        ("\udcff", r"\udcff"),
    ],
)
def test_what_a_terminal_would_obey_is_escaped(text, shown):
    assert printable(text) == shown


def test_similar_names_come_nearest_first_whatever_their_case():
    names = ["orders-eu", "payments", "ORDER", "prod.orders.consumer", "orders-us"]
    assert similar_names("orders", names) == ["ORDER", "orders-eu", "orders-us"]
    assert similar_names("PAYMENT", names) == ["payments"]
    assert similar_names("consumer", names) == ["prod.orders.consumer"]
    assert similar_names("nothing", names) == similar_names("", names) == []
    assert similar_hint("paymints", names) == "similar: payments"
    assert similar_hint("nothing", names) is None
