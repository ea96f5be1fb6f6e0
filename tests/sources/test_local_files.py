"""Files of this machine are listed without Spark as Spark lists them."""

import pytest

from kip848_records.errors import InputError
from kip848_records.machine.files import list_files
from kip848_records.machine.paths import path_on_this_machine
from kip848_records.spark.files import list_spark_files

_FILES = (
    *("a.parquet", "b.json.gz", "_SUCCESS", ".c.parquet.crc", "d.parquet._COPYING_", "e [1]{x}, ümlaut #%20.json"),
    *("sub/f.parquet", "sub/sub/g.parquet", "_hidden/h.parquet", ".hidden/i.parquet"),
    *("columns/date=1/j.parquet", "columns/date=2/k=%3A/l.parquet", "columns/date=2/_x/m", "columns/n.parquet"),
    *("below/a=1/sub/o.parquet", "below/p.parquet"),
    *("mixed/x/a=1/q.parquet", "mixed/y/r.parquet"),
    *("tables/t/_delta_log/0.json", "tables/t/_delta_log/_last_checkpoint", "tables/t/u.parquet"),
    *("broker/__consumer_offsets-0/0.log", "broker/__consumer_offsets-0/0.log.swap", "broker/orders-0/0.log"),
    *("broker/__consumer_offsets-1.x-delete/0.log", "broker/__consumer_offsets-2/.log"),
)
_SEGMENTS = "/__consumer_offsets-*/*.{log,log.swap}"


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    root = tmp_path_factory.mktemp("tree")
    for name in _FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (root / "empty").mkdir()
    (root / "link").symlink_to("columns")
    (root / "columns" / "date=1" / "again").symlink_to("..")
    (root / "dangling").symlink_to("nowhere")
    return root


@pytest.mark.parametrize("below", ["", "/_delta_log", _SEGMENTS, f"/*{_SEGMENTS}", "/nothing"])
@pytest.mark.parametrize(
    "path",
    [
        *(
            "a.parquet",
            "_SUCCESS",
            "e [1]{x}, ümlaut #%20.json",
            "sub",
            "sub/../sub",
            "below",
            "tables/t",
            "tables",
        ),
        *("broker", "empty", "link/date=2", "nowhere", "dangling", "_hidden"),
    ],
)
def test_files_are_those_that_spark_finds(classic, tree, path, below):
    assert list_files(path_on_this_machine(f"{tree}/{path}"), below) == list_spark_files(
        classic, f"{tree}/{path}", below
    )


def test_a_link_to_a_folder_above_ends(tree):
    assert [file.rpartition("/")[2] for file in list_files(tree / "link")] == ["j.parquet", "l.parquet", "n.parquet"]


def test_folders_that_spark_cannot_read_together(classic, tree):
    for listed in (list_files, lambda path: list_spark_files(classic, str(path))):
        with pytest.raises(
            InputError, match=rf"holds folders that cannot be read together: \S*{tree}/mixed\S*, \S*{tree}/mixed"
        ):
            listed(tree / "mixed")


def test_a_folder_that_may_not_be_listed_is_named(tree, monkeypatch):
    def refuse(_path):
        raise PermissionError(13, "Permission denied", "/closed")

    monkeypatch.setattr("os.scandir", refuse)
    with pytest.raises(InputError, match=r"^/closed cannot be read: Permission denied"):
        list_files(tree)


@pytest.mark.parametrize(
    ("path", "local"),
    [
        ("a/b", "a/b"),
        ("/a", "/a"),
        ("file:/a", "/a"),
        ("file:///a b", "/a b"),
        ("s3a://a/b", None),
        ("kafka://h:1/t", None),
    ],
)
def test_which_paths_are_of_this_machine(path, local):
    assert (None if (found := path_on_this_machine(path)) is None else str(found)) == local
