import pickle

from kip848_records.errors import InputError, Kip848Error
from kip848_records.spark.setup_errors import SetupError
from kip848_records.tables.errors import TablesError


def test_an_error_is_one_line_that_ends_in_its_hint():
    error = InputError("no such\n  path", "name another\none")
    assert str(error) == "no such path; name another one"
    assert (error.message, error.hint) == ("no such path", "name another one")


def test_an_error_shows_control_characters_as_text():
    error = TablesError.several_clusters("g", ["\x1b[2J", "\x9b2J", "\x7f"])
    assert str(error) == r"3 clusters have a group 'g'; pass --cluster: \x1b[2J, \x9b2J, \x7f"


def test_an_error_survives_the_way_from_a_worker():
    error = pickle.loads(pickle.dumps(SetupError.no_spark("pyspark")))  # noqa: S301
    assert isinstance(error, Kip848Error)
    assert str(error) == str(SetupError.no_spark("pyspark"))
