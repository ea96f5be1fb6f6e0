"""The user's cache: what is kept, who may see it, and what is removed when."""

import fcntl
import os
from contextlib import ExitStack

import pytest

from kip848_records.machine.cache import Cache, Contents


@pytest.fixture
def cache(tmp_path):
    return Cache.of_user({"XDG_CACHE_HOME": str(tmp_path / "xdg")})


def add(cache, key, size=10, made=None):
    with cache.new() as new:
        (new.folder / "table").mkdir()
        (new.folder / "table" / "file").write_bytes(b"x" * size)
        new.keep(key)
    if made is not None:
        os.utime(cache.folder / key / "made", (made, made))


def keys(cache):
    return sorted(each.name for each in cache.folder.iterdir())


def test_an_entry_is_found_by_its_key(cache):
    add(cache, "a")
    with cache.using("a") as entry:
        assert (entry.folder / "table" / "file").read_bytes() == b"x" * 10
        assert 0 <= entry.age_s < 60
    with cache.using("b") as entry:
        assert entry is None
    assert cache.contents() == Contents(1, 10)


def test_its_age(cache):
    add(cache, "a", made=1_000_000_000)
    with cache.using("a") as entry:
        assert entry.age_s > 500_000_000


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"XDG_CACHE_HOME": "{}/x", "HOME": "{}/h"}, "x/kip848-records/audits"),
        ({"HOME": "{}/h"}, "h/.cache/kip848-records/audits"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "{}/h"}, "h/.cache/kip848-records/audits"),
        ({"XDG_CACHE_HOME": "", "HOME": ""}, None),
        ({}, None),
    ],
)
def test_where_it_is(tmp_path, environment, folder):
    found = Cache.of_user({name: value.format(tmp_path) for name, value in environment.items()})
    assert (None if found is None else str(found.folder.relative_to(tmp_path))) == folder


def test_only_the_user_reads_it(cache, tmp_path):
    add(cache, "a")
    assert [each.stat().st_mode & 0o777 for each in (cache.folder, cache.folder / "a")] == [0o700, 0o700]
    cache.folder.chmod(0o755)
    assert Cache.of_user({"XDG_CACHE_HOME": str(tmp_path / "xdg")}).folder.stat().st_mode & 0o777 == 0o700


def test_the_folder_of_another_user_is_not_used(cache, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: cache.folder.stat().st_uid + 1)
    assert Cache.of_user({"XDG_CACHE_HOME": str(tmp_path / "xdg")}) is None


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    assert Cache.of_user({"XDG_CACHE_HOME": str(tmp_path / "file")}) is None


def test_a_folder_that_cannot_be_written(cache, monkeypatch):
    cache.folder.rmdir()
    cache.folder.touch()
    with cache.new() as new, cache.using("a") as entry:
        assert (new, entry) == (None, None)
    assert cache.contents() == cache.clear() == Contents(0, 0)
    cache.folder.unlink()
    cache.folder.mkdir()
    monkeypatch.setattr(fcntl, "flock", _no_locks)
    with cache.new() as new:
        assert new is None
    assert keys(cache) == []


def test_a_disk_that_is_almost_full(cache, monkeypatch):
    monkeypatch.setattr("kip848_records.machine.cache.free_bytes", lambda _: 99_000_000)
    with cache.new() as new:
        assert new is None
    assert keys(cache) == []


def _no_locks(*_):
    raise OSError("no locks here")


def test_what_is_not_kept_leaves_nothing(cache):
    with cache.new() as new:
        (new.folder / "file").touch()
    assert keys(cache) == []


def test_the_first_of_two_that_make_the_same_entry(cache):
    with cache.new() as one, cache.new() as two:
        (one.folder / "of").write_text("one")
        (two.folder / "of").write_text("two")
        one.keep("a")
        two.keep("a")
        assert (one.is_kept, two.is_kept) == (True, False)
        assert (two.folder / "of").read_text() == "two"  # who made it can still use it
    assert keys(cache) == ["a"]
    assert (cache.folder / "a" / "of").read_text() == "one"


class TestLimit:
    @pytest.fixture
    def small(self, cache):
        return Cache(cache.folder, most_bytes=25)

    def test_the_oldest_goes_first(self, small):
        add(small, "b", made=200)
        add(small, "a", made=100)
        add(small, "c")
        assert keys(small) == ["b", "c"]

    def test_what_is_in_use_stays(self, small):
        with ExitStack() as stack:
            add(small, "a", made=100)
            stack.enter_context(small.using("a"))
            add(small, "b", made=200)
            add(small, "c", made=300)
            assert keys(small) == ["a", "c"]
        add(small, "d")
        assert keys(small) == ["c", "d"]

    def test_an_entry_that_was_just_made_is_in_use(self, small):
        with small.new() as new:
            (new.folder / "file").write_bytes(b"x" * 20)
            new.keep("a")
            os.utime(new.folder / "made", (100, 100))
            add(small, "b", made=200)
            assert "a" in keys(small)
            with small.using("a") as entry:  # but others may read it
                assert entry is not None

    def test_one_that_is_too_large_is_not_kept(self, small):
        add(small, "a")
        with small.new() as new:
            (new.folder / "file").write_bytes(b"x" * 26)
            new.keep("b")
            assert not new.is_kept
        assert keys(small) == ["a"]


def test_what_a_killed_run_left_is_removed(cache):
    (cache.folder / ".left").mkdir()
    with cache.new() as new:
        add(cache, "a")
        assert keys(cache) == sorted([new.folder.name, "a"])


def test_clear(cache):
    for key in "abc":
        add(cache, key)
    with cache.using("b"):
        assert cache.clear() == Contents(2, 20)
        assert keys(cache) == ["b"]
    assert cache.clear() == Contents(1, 10)
    assert cache.contents() == Contents(0, 0)


def test_what_others_keep_is_not_touched(cache):
    add(cache, "a")
    others = [cache.folder.parent / "jars" / "kafka.jar", cache.folder.parent / ".work", cache.folder / "b" / "file"]
    for each in others:
        each.parent.mkdir(exist_ok=True)
        each.write_bytes(b"x" * 100)
    Cache(cache.folder, most_bytes=1).make_room()
    assert cache.clear() == Contents(0, 0)
    add(cache, "a")
    assert cache.contents() == cache.clear() == Contents(1, 10)
    assert all(each.exists() for each in others)


def test_an_entry_that_is_removed_while_it_is_opened(cache, monkeypatch):
    add(cache, "a")
    flock = fcntl.flock

    def late(lock, how):
        monkeypatch.setattr(fcntl, "flock", flock)
        cache.clear()
        add(cache, "a")  # anew: the lock that is taken now is that of a folder that is gone
        flock(lock, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with cache.using("a") as entry:
        assert entry is None
