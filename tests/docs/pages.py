"""README.md and the pages of docs/: their text, and the examples in it.

An example is a code block. The comment above it says how a test runs it:

- `<!-- test: NAME -->`: the test that asks for `block("test: NAME")`.
- `<!-- output: NAME -->`: a console session in a clone (`tests/docs/reader.py`). Each command prints what follows.
  `out` has the tables of `make audit`, `kinds` those of the pages about kinds of groups.
- `<!-- not run: REASON -->`: nothing runs it. Its commands are parsed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
HOME_OF_THE_ACCOUNT = "$(python3 -c 'import os, pwd; print(pwd.getpwuid(os.getuid()).pw_dir)')"
"""What the pages say where Java looks, whatever HOME is; a test without an account of its own takes HOME."""
_BLOCK = re.compile(r"(?:^<!-- (.*?) -->\n)?^( *)```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


class Example(NamedTuple):
    """A code block: the file, the comment above it or an empty string, the language and the code."""

    page: Path
    mark: str
    language: str
    text: str


def pages() -> list[Path]:
    """Return README.md and all pages, in the order of their paths."""
    return [README, *sorted(DOCS.rglob("*.md"))]


def examples(page: Path | None = None) -> list[Example]:
    """Return the code blocks of one page, or of all."""
    return [
        Example(each, mark, language, text)
        for each in ([page] if page else pages())
        for mark, _, language, text in _BLOCK.findall(each.read_text(encoding="utf-8"))
    ]


def block(mark: str) -> str:
    """Return the code of the blocks with a mark, such as `test: ci`: one, or several that are alike."""
    (found,) = {each.text for each in examples() if each.mark == mark}
    return found


def commands(text: str) -> list[str]:
    """Return the `kip848` command lines of a shell example without prompt and redirection, continued lines joined."""
    lines = re.sub(r" +>>? *\S+$", "", text.replace("\\\n", " "), flags=re.MULTILINE).splitlines()
    return [line.removeprefix("$ ") for line in lines if re.match(r"(\$ )?(\.venv/bin/)?kip848 ", line)]
