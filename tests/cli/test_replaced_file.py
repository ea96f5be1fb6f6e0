"""A file of results is written as a whole or not at all, and stays what it is: a link, a pipe, somebody's file."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import pytest

from kip848_records.cli import replaced_file
from kip848_records.cli.replaced_file import check_file, write_file
from kip848_records.machine.disks import DiskError
from tests.small_disks import fill, small_disk

_NOBODY = 65534
TEXT = "new é\n" * 3_000


def refused(file, text=TEXT, **options):
    with pytest.raises(DiskError) as caught:
        write_file(file, text, **options)
    return caught.value


def refused_early(file):
    with pytest.raises(DiskError) as caught:
        check_file(file)
    return caught.value


def raising(number):
    def fail(*_):
        raise OSError(number, os.strerror(number))

    return fail


class TestFullDisk:
    @pytest.fixture
    def disk(self, tmp_path):
        with small_disk(tmp_path / "disk", "128k") as disk:
            yield disk

    @pytest.mark.process
    def test_the_old_file_stays_and_nothing_beside_it(self, disk):
        file = disk / "page.html"
        file.write_text("good")
        fill(disk, leave=8192)
        error = refused(file)
        assert error.message == (
            f"results cannot be written to {file}: No space left on device: it takes 21.0 kB, "
            f"and 8.2 kB is free on the disk of {disk}"
        )
        assert error.hint == "free some space on that disk, or name a file in an existing folder on another one"
        assert file.read_text() == "good"
        assert {each.name for each in disk.iterdir()} == {"page.html", "filler"}

    @pytest.mark.process
    def test_there_is_no_file_where_none_was(self, disk):
        fill(disk)
        refused(disk / "page.html", is_replaced=True)
        assert {each.name for each in disk.iterdir()} == {"filler"}

    @pytest.mark.process
    def test_a_link_on_another_disk_does_not_help(self, disk, tmp_path):
        (disk / "page.html").write_text("good")
        link = tmp_path / "link.html"
        link.symlink_to(disk / "page.html")
        fill(disk)
        assert f"is free on the disk of {disk}" in refused(link).message
        assert (link.is_symlink(), link.read_text()) == (True, "good")

    @pytest.mark.process
    def test_a_disk_that_may_only_be_read(self, disk):
        file = disk / "page.html"
        file.write_text("good")
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        for error in (refused(file), refused_early(file)):
            assert error.message == f"results cannot be written to {file}: the disk of {disk} is read-only"
            assert error.hint == "name a file on a disk that can be written"
        assert file.read_text() == "good"

    @pytest.mark.process
    def test_a_file_that_is_mounted_itself_is_written_in_place(self, disk, tmp_path):
        """As containers are given a single file: nothing can take its place."""
        file, of_host = tmp_path / "page.html", disk / "page.html"
        file.touch()
        of_host.write_text("old " * 10_000)
        subprocess.run(["mount", "--bind", of_host, file], check=True)
        try:
            write_file(file, TEXT)
            assert of_host.read_text() == TEXT
            assert sorted(each.name for each in tmp_path.iterdir()) == ["disk", "page.html"]
            assert [*disk.iterdir()] == [of_host]
        finally:
            subprocess.run(["umount", file], check=True)


class TestOtherFailures:
    @pytest.fixture
    def file(self, tmp_path):
        made = tmp_path / "page.html"
        made.write_text("good")
        return made

    def test_a_quota(self, file, monkeypatch):
        monkeypatch.setattr(replaced_file.os, "fsync", raising(errno.EDQUOT))
        error = refused(file)
        assert error.message.endswith(f"Disk quota exceeded on the disk of {file.parent}")
        assert error.hint.startswith("remove files of yours there, or ")
        assert [each.read_text() for each in file.parent.iterdir()] == ["good"]

    def test_a_disk_that_breaks(self, file, monkeypatch):
        monkeypatch.setattr(replaced_file.os, "fsync", raising(errno.EIO))
        assert refused(file).message == f"results cannot be written to {file}: Input/output error"
        assert [each.read_text() for each in file.parent.iterdir()] == ["good"]

    def test_an_interrupt(self, file, monkeypatch):
        def interrupt(_):
            raise KeyboardInterrupt

        monkeypatch.setattr(replaced_file.os, "fsync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            write_file(file, TEXT)
        assert [each.read_text() for each in file.parent.iterdir()] == ["good"]

    def test_a_folder_that_is_not_there(self, tmp_path):
        file = tmp_path / "no such" / "page.html"
        for error in (refused(file), refused_early(file)):
            assert error.message == f"results cannot be written to {file}: there is no folder {file.parent}"
            assert error.hint == f"make it: mkdir -p '{file.parent}'; or name a file in an existing folder"

    def test_a_link_to_a_folder_that_is_not_there(self, tmp_path):
        link, target = tmp_path / "link", tmp_path / "gone" / "page.html"
        link.symlink_to(target)
        assert f"there is no folder {target.parent}" in refused_early(link).message

    def test_a_folder_of_that_name(self, tmp_path):
        error = refused_early(tmp_path)
        assert error.message == f"results cannot be written to {tmp_path}: it is a folder"
        assert error.hint == f"name a file in it, such as {tmp_path / 'results'}"


class TestWhatStays:
    def test_a_link_is_one_and_leads_to_the_same_file(self, tmp_path):
        (tmp_path / "real").mkdir()
        target, link = tmp_path / "real" / "page.html", tmp_path / "link"
        target.write_text("old")
        link.symlink_to(Path("real") / "page.html")
        write_file(link, TEXT)
        assert (link.readlink(), target.read_text()) == (Path("real") / "page.html", TEXT)
        assert [*target.parent.iterdir()] == [target]

    def test_a_link_to_no_file_yet(self, tmp_path):
        link = tmp_path / "link"
        link.symlink_to(tmp_path / "page.html")
        check_file(link)
        write_file(link, TEXT)
        assert link.is_symlink()
        assert (tmp_path / "page.html").read_text() == TEXT

    @pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o755])
    def test_the_mode_of_a_file(self, tmp_path, mode):
        file = tmp_path / "page.html"
        file.touch()
        file.chmod(mode)
        write_file(file, TEXT)
        assert stat.S_IMODE(file.stat().st_mode) == mode

    @pytest.mark.skipif(os.getuid() != 0, reason="only root can make a file of another user")
    def test_its_owner(self, tmp_path):
        file = tmp_path / "page.html"
        file.touch()
        os.chown(file, _NOBODY, _NOBODY)
        write_file(file, TEXT)
        assert (file.stat().st_uid, file.stat().st_gid) == (_NOBODY, _NOBODY)

    @pytest.mark.skipif(os.getuid() != 0, reason="only root can make a file of another user")
    @pytest.mark.parametrize(("groups", "owner"), [([100], _NOBODY), ([], 1)])
    def test_its_group(self, groups, owner):
        """A user keeps a group that is one of theirs; a file of any other is written in place, and keeps both."""
        before = os.getgroups(), os.getgid()
        with TemporaryDirectory() as folder:  # below pytest's folder, nobody else may look
            file = Path(folder) / "page.html"
            file.write_text("old " * 10_000)
            file.chmod(0o666)
            os.chown(file, 1, 100)
            file.parent.chmod(0o777)
            os.setgroups(groups)
            os.setresgid(_NOBODY, _NOBODY, 0)
            os.setresuid(_NOBODY, _NOBODY, 0)
            try:
                write_file(file, TEXT)
            finally:
                os.setresuid(0, 0, 0)
                os.setresgid(before[1], before[1], before[1])
                os.setgroups(before[0])
            assert (file.stat().st_uid, file.stat().st_gid, file.read_text()) == (owner, 100, TEXT)
            assert [*file.parent.iterdir()] == [file]

    def test_a_new_file_has_the_mode_of_any(self, tmp_path):
        before = os.umask(0o027)
        try:
            write_file(tmp_path / "page.html", TEXT)
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / "page.html").stat().st_mode) == 0o640

    def test_a_name_as_long_as_names_may_be(self, tmp_path):
        write_file(tmp_path / ("n" * 255), TEXT)
        assert (tmp_path / ("n" * 255)).read_text() == TEXT

    @pytest.mark.skipif(os.getuid() != 0, reason="the folder is another user's: it takes root to make it")
    def test_a_file_of_ours_in_a_folder_of_another_is_written_in_place(self):
        with TemporaryDirectory() as folder:  # below pytest's folder, nobody else may look
            file = Path(folder) / "page.html"
            file.write_text("old " * 10_000)
            os.chown(file, _NOBODY, -1)
            file.parent.chmod(0o755)
            os.setresuid(_NOBODY, _NOBODY, 0)
            try:
                check_file(file)
                write_file(file, TEXT)
                assert "no permission to write to" in refused(file, is_replaced=True).message
            finally:
                os.setresuid(0, 0, 0)
            assert file.read_text() == TEXT

    def test_a_pipe(self, tmp_path):
        pipe, read = tmp_path / "pipe", []
        os.mkfifo(pipe)
        reader = Thread(target=lambda: read.append(pipe.read_text()))
        reader.start()
        write_file(pipe, TEXT)
        reader.join(10)
        assert read == [TEXT]
        assert pipe.is_fifo()

    @pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1"])
    @pytest.mark.parametrize("mode", ["wb", "ab"])
    @pytest.mark.process
    def test_stdout_in_a_file(self, tmp_path, name, mode):
        """The file stays the one that the shell opened, and what is printed later follows."""
        program = (
            "import sys; from pathlib import Path; from kip848_records.cli.replaced_file import write_file\n"
            "print('before'); write_file(Path(sys.argv[1]), 'page\\n'); print('after')"
        )
        file = tmp_path / "out"
        file.write_text("kept\n")
        with file.open(mode) as out:
            subprocess.run([sys.executable, "-c", program, name], stdout=out, check=True)
        kept = "kept\n" if mode == "ab" else ""
        assert file.read_text() == f"{kept}before\npage\nafter\n"
        assert [*tmp_path.iterdir()] == [file]
