"""A reader's folder, and the examples that a reader runs there, as they are printed.

As a program, it runs examples one after the other in one process, because Spark and imports take their time:
``python -m tests.docs.reader ANSWERS < EXAMPLES``.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from tests import users
from tests.docs.pages import ROOT, commands

# What a clone has at first; all else is what somebody's runs left behind.
_CLONE = ("conf", "docs", "jobs", "kip848_records", "notebooks", "tests", "pyproject.toml")


_WITHOUT_SPARK = "KIP848_READER_WITHOUT_SPARK"
"""A variable: what only the extra `[spark]` brings cannot be imported."""


class Ran(NamedTuple):
    """What a command, or a block of Python, printed, and its exit code."""

    code: int
    printed: str


def make_clone(folder: Path) -> Path:
    """Make a folder that looks like a clone in which somebody set up .venv."""
    folder.mkdir(exist_ok=True)
    for name in _CLONE:
        (folder / name).symlink_to(ROOT / name)
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


def environment(**variables: str) -> dict[str, str]:
    """Return the environment of a terminal in which .venv is active, without what the tests set for Spark."""
    kept = users.environment()
    return kept | {"PATH": f"{sys.prefix}/bin:{kept['PATH']}"} | variables


def run_examples(
    folder: Path, examples: list[tuple[str, str]], *, has_spark: bool = True, **variables: str
) -> list[list[Ran]]:
    """Run examples (language, text) in a folder; return what each of their commands did.

    Without Spark the machine has no Java either, nor any other program but those of .venv.
    """
    if not has_spark:
        variables |= {_WITHOUT_SPARK: "1", "PATH": f"{sys.prefix}/bin", "JAVA_HOME": ""}
    answers = folder / "answers.json"
    command = [sys.executable, "-m", "tests.docs.reader", answers]
    done = subprocess.run(
        command,
        cwd=folder,
        input=json.dumps(examples),
        env=environment(**variables),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    ran = [[Ran(*each) for each in example] for example in json.loads(answers.read_text(encoding="utf-8"))]
    answers.unlink()
    return ran


def _run(language: str, text: str) -> list[tuple[int, str]]:
    """Run an example; a block of Python has only the names that it defines or imports itself."""
    if language != "python":
        return [run_command(line) for line in commands(text)]
    with redirect_stdout(StringIO()) as printed:
        exec(text, {"__name__": "__main__"})  # noqa: S102 - our own page
    return [(0, printed.getvalue())]


def run_command(line: str) -> tuple[int, str]:
    """Run a command line of this package in this process, in the current folder: its exit code and what it prints."""
    from kip848_records.cli import main  # noqa: PLC0415 - the tests that start this program need no command

    program, *words = shlex.split(line)
    found = shutil.which(program)
    # In the environment of these tests, which the reader's folder links to.
    assert found is not None, f"there is no {program} here"
    assert Path(found).resolve() == Path(sys.prefix, "bin", "kip848").resolve(), f"{program} is another one: {found}"
    with redirect_stdout(StringIO()) as printed:
        code = main(words)
    return code, printed.getvalue()


class _NotInstalled:
    def find_spec(self, name: str, path: object = None, target: object = None) -> None:  # noqa: ARG002 - the protocol
        if name.partition(".")[0] in {"delta", "pandas", "py4j", "pyspark"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


if __name__ == "__main__":
    if os.environ.get(_WITHOUT_SPARK):
        sys.meta_path.insert(0, _NotInstalled())  # type: ignore[arg-type]
    found = [_run(language, text) for language, text in json.load(sys.stdin)]
    Path(sys.argv[1]).write_text(json.dumps(found), encoding="utf-8")
