"""Columns that the names of folders give, such as `partition=3`, with the types that Spark would find."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    FolderValues = Mapping[Path, Mapping[str, int | str | None]]
    """The values of columns, by the path of a file."""

_NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"
_NUMBER: Final = re.compile(r"-?\d{1,18}")


def folder_values(files: Iterable[Path], root: Path) -> FolderValues:
    """Return the values that the folders between a copy and each of its files name, by column.

    A column that has only numbers has the type of numbers in all files, otherwise that of texts.
    """
    found = {file: _named(file, root.absolute()) for file in files}
    texts = {
        name for values in found.values() for name, text in values.items() if text is not None and not _is_number(text)
    }
    return {
        file: {name: text if text is None or name in texts else int(text) for name, text in values.items()}
        for file, values in found.items()
    }


def _named(file: Path, root: Path) -> dict[str, str | None]:
    folders = file.parent.relative_to(root).parts if file != root else ()
    pairs = (folder.partition("=") for folder in folders if "=" in folder)
    return {unquote(name): None if value == _NO_VALUE else unquote(value) for name, _, value in pairs}


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None
