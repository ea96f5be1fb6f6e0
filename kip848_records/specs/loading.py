"""The tables as data: TOML files beside this module, in the form that `CONTRIBUTING.md` describes."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kip848_records.specs.columns import PRIMITIVES, Column, TableSpec, list_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HAS_ENDED: Final = "coalesce(status, '') NOT IN ('open', 'unknown') AND history NOT IN ('right_censored', 'censored')"
"""SQL: whether the subject of a row has ended. A row without a status ended before the history is complete."""


def table_spec(name: str) -> TableSpec:
    """Return the table that a section `[tables.<name>]` describes."""
    section = _sections()["tables"][name]
    ended_at = section.get("ended_at")
    return TableSpec(
        section.get("name", name),
        _flat(section["comment"]),
        tuple(section["key"]),
        tuple(_columns(section["columns"])),
        None if ended_at is None else _flat(ended_at).replace("{HAS_ENDED}", HAS_ENDED),
    )


def shared_columns(name: str) -> tuple[Column, ...]:
    """Return the columns that tables list by this name, of a section `[shared]`."""
    return tuple(_columns(_sections()["shared"][name]))


def struct_type(name: str) -> pa.StructType:
    """Return the type that a section `[types.<name>]` describes."""
    return pa.struct([(field, _type(kind)) for field, kind in _sections()["types"][name].items()])


@cache
def _sections() -> dict[str, dict[str, Any]]:
    """Return the sections of all files: what is in each of one kind, by name."""
    sections: dict[str, dict[str, Any]] = {"tables": {}, "shared": {}, "types": {}}
    for file in files(__package__).iterdir():
        if file.name.endswith(".toml"):
            for kind, named in tomllib.loads(file.read_text(encoding="utf-8")).items():
                sections[kind] |= named
    return sections


def _columns(entries: Iterable[str | dict[str, Any] | list[str]]) -> Iterator[Column]:
    for entry in entries:
        if isinstance(entry, str):
            yield from shared_columns(entry)
        elif isinstance(entry, dict):
            without = entry.get("without", ())
            yield from (each for each in table_spec(entry["of"]).columns if each.name not in without)
        else:
            name, kind, comment = entry
            yield Column(name, _type(kind.removesuffix("!")), _flat(comment), required=kind.endswith("!"))


def _type(text: str) -> pa.DataType:
    if text.endswith("[]"):
        return list_of(_type(text.removesuffix("[]")))
    if text.startswith("map("):
        return pa.map_(*map(_type, text.removeprefix("map(").removesuffix(")").split(", ")))
    return PRIMITIVES[text] if text in PRIMITIVES else struct_type(text)


def _flat(text: str) -> str:
    return " ".join(text.split())
