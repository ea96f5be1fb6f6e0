"""What SQL texts share: functions, relations and templates. Jinja2 fills them in, because the engines have neither.

A text calls a function of `functions.sql` like those of the engines, and names a relation, a file of `relations/`, like
a table. `completed` replaces the calls, and puts the relations in front. Nothing else in a text is filled in: values
are parameters. A query that is put together from parts is a template, which `rendered` fills in. `query` and `folder`
load the files.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Environment, FunctionLoader, StrictUndefined

from kip848_records import wording
from kip848_records.kinds import KINDS
from kip848_records.protocol.dialects import DISPUTED_TYPES
from kip848_records.protocol.key_types import KeyType
from kip848_records.protocol.messages import OFFSET_COMMIT_TYPES
from kip848_records.queries.marked_numbers import MARK
from kip848_records.replay import refusals
from kip848_records.replay.group.vocabulary import CONVERGING, NOT_READY, REBALANCING
from kip848_records.specs.tables import OFFSETS_RETENTION_MS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_PACKAGE: Final = files("kip848_records")
_FUNCTIONS: Final = "queries/functions.sql"
_COMMENT: Final = re.compile(r"('(?:[^']|'')*')|--[^\n]*")
_LITERAL: Final = re.compile(r"'(?:[^']|'')*'")
_TABLE: Final = re.compile(r"(?:\b(?:FROM|JOIN)|,)\s+(\w+)\b(?!\.)", re.IGNORECASE)
_OWN_TABLE: Final = re.compile(r"\b(\w+)\s*(?:\([\w\s,]*\)\s*)?AS \(\s*(?:SELECT|WITH)\b", re.IGNORECASE)
_SPECIAL: Final = re.compile(r"(['\\\\{}])")
_WITH: Final = re.compile(r"WITH\s+(RECURSIVE\s+)?", re.IGNORECASE)


def _group_types(trait: str) -> list[str]:
    """Return the group types that have a trait of `kinds.Kind`."""
    return list(dict.fromkeys(kind.group_type for kind in KINDS.values() if getattr(kind, trait)))


def read(path: str) -> str:
    """Return the text of a file of this package."""
    return _PACKAGE.joinpath(path).read_text(encoding="utf-8")


def literal(text: str) -> str:
    """Return a text as a literal that both engines read alike, also in a text with names of relations in braces."""
    parts = _SPECIAL.split(text)
    shown = [f"chr({ord(part)})" if _SPECIAL.fullmatch(part) else f"'{part}'" for part in parts if part]
    return f"concat({', '.join(shown)})" if len(shown) > 1 else "".join(shown) or "''"


_ENVIRONMENT: Final = Environment(
    autoescape=False,  # noqa: S701 - SQL, no HTML
    loader=FunctionLoader(read),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.globals |= {
    "group_types": _group_types,
    "key_types": vars(KeyType),
    "offset_commit_types": OFFSET_COMMIT_TYPES,
    "disputed_types": DISPUTED_TYPES,
    "number_mark": MARK,
    "offsets_retention_ms": OFFSETS_RETENTION_MS,
    "states": {"converging": CONVERGING, "not_ready": NOT_READY, "rebalancing": REBALANCING},
    "refusals": refusals,
    "wording": wording,
}


def query(path: str) -> str:
    """Return the text of an SQL file of this package, by its path without the ending, `completed`."""
    return completed(read(f"{path}.sql"))


@cache
def folder(path: str) -> Mapping[str, str]:
    """Return the texts of the SQL files of a folder of this package, by their names, in the order of these."""
    found = sorted(file.name for file in _PACKAGE.joinpath(path).iterdir() if file.name.endswith(".sql"))
    return {name.removesuffix(".sql"): read(f"{path}/{name}") for name in found}


def rendered(template: str, **values: Any) -> str:  # noqa: ANN401 - what the template needs
    """Return a template, by its path in this package, with its values filled in; a missing value raises."""
    return _ENVIRONMENT.get_template(template).render(values)


@cache
def functions() -> Mapping[str, Callable[..., str]]:
    """Return the functions that a text may call, by name; their arguments and results are SQL."""
    module = vars(_ENVIRONMENT.get_template(_FUNCTIONS).module)
    return {name: macro for name, macro in module.items() if not name.startswith("_")}


@cache
def _calls() -> re.Pattern[str]:
    """Return what finds literals, and the beginnings of calls with the name of the function."""
    return re.compile(rf"{_LITERAL.pattern}|(?<![\w.])({'|'.join(functions())})\(")


@cache
def plain(text: str) -> str:
    """Return a text without comments, with the calls of `functions` replaced.

    Raises ValueError if a parenthesis is not closed.
    """
    text = _COMMENT.sub(lambda found: found[1] or "", text)
    parts, start = list[str](), 0
    while found := _calls().search(text, start):
        parts.append(text[start : found.start()])
        start = found.end()
        if found[1] is None:
            parts.append(found[0])
        else:
            arguments, start = _arguments(text, start)
            parts.append(functions()[found[1]](*map(plain, filter(None, arguments))))
    return "".join([*parts, text[start:]])


def relations_of(text: str, own: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the relations that a plain text names, and those that they name, each behind those.

    `own`: more relations than those of `relations/`.
    """
    known = {**folder("queries/relations"), **(own or {})}
    found: dict[str, str] = {}
    bare = _LITERAL.sub("''", text)
    for name in sorted((known.keys() & set(_TABLE.findall(bare))) - set(_OWN_TABLE.findall(bare))):
        relation = plain(known[name]).strip()
        found |= {**relations_of(relation, own), name: relation}
    return found


@cache
def completed(text: str, **own: str) -> str:
    """Return a text that both engines understand, with the relations in front that it names."""
    return with_relations(plain(text).strip(), own)


def with_relations(text: str, own: Mapping[str, str] | None = None) -> str:
    """Return a text with the relations in front that it names; a text that names none stays as it is."""
    relations = relations_of(text, own)
    if not relations:
        return text
    text = _COMMENT.sub(lambda found: found[1] or "", text).strip()
    return with_tables(text, {name: f"\n{body}\n" for name, body in relations.items()})


def with_tables(text: str, named: Mapping[str, str]) -> str:
    """Return a text that begins with no comment, with tables of one query each in front of its own."""
    tables = ",\n".join(f"{name} AS ({body})" for name, body in named.items())
    own = _WITH.match(text)
    return f"WITH {tables}\n{text}" if own is None else f"{own[0]}{tables},\n{text[own.end() :]}"


def _arguments(text: str, start: int) -> tuple[list[str], int]:
    """Return the arguments of a call, which begin at `start`, and the end of the call."""
    arguments, depth, begin, is_literal = [], 0, start, False
    for place in range(start, len(text)):
        character = text[place]
        if character == "'":
            is_literal = not is_literal
        elif is_literal:
            continue
        elif character == "(":
            depth += 1
        elif character == ")" and depth:
            depth -= 1
        elif (character == "," and not depth) or character == ")":
            arguments.append(text[begin:place].strip())
            begin = place + 1
            if character == ")":
                return arguments, begin
    message = "a parenthesis is not closed"
    raise ValueError(message)
