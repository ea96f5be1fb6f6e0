"""Environments as `pip install` of the wheel makes them, with what each extra brings and nothing else.

They are made without pip and a network: of the packages of this environment, those are linked that the wheel asks for.
"""

import subprocess
import sys
import venv
from collections.abc import Iterable, Sequence
from email.parser import BytesParser
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from zipfile import ZipFile

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests import users
from tests.commands import Answer, answers

EXTRAS = ("spark", "notify", "docs")


class Environment:
    """A virtual environment of the wheel. `bring` decides which of its extras it has."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        venv.create(folder, with_pip=False)
        self.programs = folder / "bin"
        self._wheel = wheel
        (self.site,) = folder.glob("lib/python*/site-packages")
        pip = [sys.executable, "-m", "pip", "--python", self.programs / "python"]
        subprocess.run([*pip, "install", "-q", "--no-deps", "--no-index", wheel], check=True)

    def bring(self, *extras: str) -> None:
        """Give it what the wheel asks for with some extras."""
        links = self.programs.parent / "-".join(["links", *extras])
        links.mkdir(exist_ok=True)
        for name in asked_for(self._wheel, *extras):
            for file in {file.parts[0] for file in distribution(name).files or ()} - {"..", "__pycache__"}:
                link = links / file
                if not link.exists():
                    link.symlink_to(distribution(name).locate_file(file))
        (self.site / "others.pth").write_text(str(links))

    def answers(self, lines: Iterable[Sequence[object]], cwd: Path | None = None) -> list[Answer]:
        """Return what `kip848` does with some lines of arguments, in one process of the environment."""
        return answers(self.programs / "python", lines, env=users.environment(), cwd=cwd or self.programs)

    def run(self, *words: object, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment, in its own folder: Python would take modules from where it is started."""
        kept = users.environment()
        command = [str(self.programs / str(words[0])), *map(str, words[1:])]
        where = cwd or self.programs
        return subprocess.run(command, env=kept | variables, cwd=where, capture_output=True, text=True, check=False)


def requirements(wheel: Path) -> list[Requirement]:
    """Return what a wheel asks for, with the markers of its extras."""
    with ZipFile(wheel) as files:
        (metadata,) = [name for name in files.namelist() if name.endswith(".dist-info/METADATA")]
        found = BytesParser().parsebytes(files.read(metadata)).get_all("Requires-Dist", [])
    return [Requirement(each) for each in found]


def asked_for(wheel: Path, *extras: str) -> set[str]:
    """Return the names of the distributions that pip would install with a wheel, besides itself."""
    found: set[tuple[str, str]] = set()
    waiting = [(each, extra) for each in requirements(wheel) for extra in ("", *extras)]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        for own in ("", *requirement.extras):
            if (name, own) not in found:
                found.add((name, own))
                waiting += [(Requirement(each), own) for each in _installed(name).requires or ()]
    return {name for name, _ in found}


def _installed(name: str) -> Distribution:
    try:
        return distribution(name)
    except PackageNotFoundError:
        raise AssertionError(f"{name} is not in this environment: make it anew from conf/constraints.txt") from None
