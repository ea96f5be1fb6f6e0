import pickle

from kip848_records.errors import InputError, Kip848Error, SetupError


def test_an_error_is_one_line_that_ends_in_its_hint():
    error = InputError("no such\n  path", "name another\none")
    assert str(error) == "no such path; name another one"
    assert (error.message, error.hint) == ("no such path", "name another one")


def test_an_error_survives_the_way_from_a_worker():
    error = pickle.loads(pickle.dumps(SetupError.java_missing("java")))  # noqa: S301
    assert isinstance(error, Kip848Error)
    assert str(error) == str(SetupError.java_missing("java"))
