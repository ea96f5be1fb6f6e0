import pytest

from kip848_records.text import printable


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
