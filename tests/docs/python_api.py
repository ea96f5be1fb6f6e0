"""The page of the Python API: the names to use in other programs, with their signatures and docstrings.

A signature is the text of the source, which the formatter has laid out. `inspect` has no text of annotations that are
imported for types only, and no docstrings of attributes.
"""

from __future__ import annotations

import ast
import re
import textwrap
from functools import partial
from importlib import import_module
from inspect import cleandoc
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from tests.docs.markdown import table, type_text
from tests.docs.pages import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SECTIONS: Final = {
    "Logs": (
        *("spark.session.get_session", "sources.read.read_log", "sources.transactions.resolve_transactions"),
        "specs.log_columns.LOG_COLUMNS",
    ),
    "Decoded records": (
        *("decode.decode", "decode.DecodedLog", "decode.decode_record", "decode.to_json"),
        *("decode.schemas.record_schema", "decode.schemas.FAILURE_SCHEMA", "decode.schemas.UNKNOWN_SCHEMA"),
        "decode.schemas.JSON_SCHEMA",
    ),
    "The state at an offset or a time": ("log.state.replay", "log.state.latest_state"),
    "Audits": (
        *("pipeline.audit.run_audit", "pipeline.options.AuditOptions", "pipeline.options.Audit"),
        *("config.load_limits", "replay.inputs.ChangedLimit"),
        "pipeline.progress.Progress",
    ),
    "Tables": (
        *("log.views.create_views", "queries.engines.open_tables", "queries.tables.Tables", "queries.tables.Run"),
        "queries.questions.questions",
        "queries.texts.plain",
        *("tables.registry.DEFAULT", "tables.registry.TABLES"),
    ),
    "Expectations": (
        *("check.check", "config.load_config", "config.load_settings", "expectations.EXPECTATIONS"),
        *("expectations.files.Expectation", "expectations.files.Limit", "expectations.files.Setting"),
        *("expectations.results.Verdict", "expectations.results.Result", "expectations.results.Counts"),
        "expectations.results.Finding",
    ),
    "One group": (
        *("report.group_sections.section_rows", "report.group_sections.numbers_of", "report.group_sections.units_text"),
        *("report.group_history.GroupHistory", "report.group_history.Incarnation", "report.explain.explain"),
        *("report.fleet.fleet", "report.fleet.Fleet", "report.fleet_text.fleet_terminal"),
        *("report.page.contents.Contents", "report.page.contents.contents", "report.page.phrases.blocker_text"),
        *("text.client_text", "times.utc_text"),
    ),
    "Errors": ("errors.Kip848Error", "errors.InputError", "spark.setup_errors.SetupError"),
}
NAMES: Final = tuple(f"kip848_records.{name}" for names in _SECTIONS.values() for name in names)
"""The public names, with their modules."""

_SHORT: Final = {name.rpartition(".")[2] for name in NAMES}
_CODE: Final = re.compile(r"`(?:\w+\.)*(\w+)`")
_FIELD: Final = re.compile(r"(?:^|(?<=\. ))(?=`\w+`(?:, `\w+`)*(?: and `\w+`)?: )")
_PARAGRAPH: Final = re.compile(r"\n\n|(?<=\.)\s+(?=Raises\s)")
_SPACES: Final = re.compile(r"\s+")
_FILL: Final = partial(textwrap.fill, width=120, break_long_words=False, break_on_hyphens=False)


def python_api() -> str:
    """Return the page."""
    sections = (
        f"## {title}\n\n{''.join(_entry(f'kip848_records.{name}') for name in names)}"
        for title, names in _SECTIONS.items()
    )
    return f"""# Python API

These names are for other programs. A version that changes one of them says so in its changelog; all other names may
change without notice. [Python and SQL](../python.md) has examples. `open_tables` and the names of the last three
sections need no PySpark; the others need the extra `[spark]` ([Install](../install.md)).

{"".join(sections)}"""


def _entry(path: str) -> str:
    module, _, name = path.rpartition(".")
    source = _source(module)
    nodes = ast.parse(source).body
    index = next(nth for nth, node in enumerate(nodes) if name in _defined(node))
    node = nodes[index]
    parts = [f"### `{name}`", f"`from {module} import {name}`"]
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        parts += [_code(source, node), _prose(ast.get_docstring(node), name)]
        parts += _methods(source, node)
    else:
        parts += [_prose(_text_below(nodes, index), name), *_columns(module, name)]
    return "\n\n".join([*parts, "", ""])


def _source(module: str) -> str:
    path = ROOT / module.replace(".", "/")
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return path.read_text(encoding="utf-8")


def _defined(node: ast.stmt) -> list[str]:
    """Return the names that a statement defines."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [each.id for each in targets if isinstance(each, ast.Name)]


def _code(source: str, node: ast.FunctionDef | ast.ClassDef) -> str:
    """Return the head of a function, or that of a class with its fields, as a block of code."""
    lines = [_head(source, node)]
    if isinstance(node, ast.ClassDef):
        fields = [each for each in node.body if isinstance(each, ast.AnnAssign) and not _is_private(each.target)]
        lines += [_lines(source, each.lineno, each.end_lineno or each.lineno) for each in fields]
        if "ABC" not in {ast.unparse(base) for base in node.bases}:  # objects of other classes, which are not public
            lines += [_head(source, each) for each in _functions(node) if each.name == "__init__"]
    colon = ":" if len(lines) > 1 else ""
    text = textwrap.dedent("\n".join([lines[0] + colon, *lines[1:]]))
    return f"```python\n{text}\n```"


def _head(source: str, node: ast.FunctionDef | ast.ClassDef) -> str:
    """Return the lines of a definition, with its decorators, up to its docstring."""
    shown = [each for each in node.decorator_list if ast.unparse(each) != "abstractmethod"]
    first = min([node.lineno, *(each.lineno for each in shown)])
    return _lines(source, first, node.body[0].lineno - 1).removesuffix(":")


def _lines(source: str, first: int, last: int) -> str:
    return "\n".join(line.partition("  #")[0].rstrip() for line in source.splitlines()[first - 1 : last]).rstrip()


def _functions(node: ast.stmt) -> list[ast.FunctionDef]:
    """Return the functions of a class; named constructors are for the package itself."""
    members = node.body if isinstance(node, ast.ClassDef) else []
    return [
        each
        for each in members
        if isinstance(each, ast.FunctionDef) and "classmethod" not in map(ast.unparse, each.decorator_list)
    ]


def _methods(source: str, node: ast.stmt) -> Iterator[str]:
    for each in _functions(node):
        if not each.name.startswith("_"):
            yield _code(source, each)
            yield _prose(ast.get_docstring(each), each.name)


def _is_private(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and target.id.startswith("_")


def _text_below(nodes: Sequence[ast.stmt], index: int) -> str | None:
    """Return the docstring of a constant, which follows it."""
    following = nodes[index + 1] if index + 1 < len(nodes) else None
    value = following.value if isinstance(following, ast.Expr) else None
    return cleandoc(value.value) if isinstance(value, ast.Constant) and isinstance(value.value, str) else None


def _columns(module: str, name: str) -> Iterator[str]:
    """Yield the columns of a schema, as a table."""
    value = getattr(import_module(module), name)
    if isinstance(value, pa.Schema):
        value = from_arrow_schema(value)
    if isinstance(value, StructType):
        yield table(["column", "type"], ([f"`{each.name}`", f"`{type_text(each.dataType)}`"] for each in value))


def _prose(text: str | None, name: str) -> str:
    """Return a docstring in Markdown, with a list of the fields that it explains, and links to names of this page."""
    assert text, f"{name} is public, but has no docstring"
    return "\n\n".join(_paragraph(each, name) for each in _PARAGRAPH.split(text))


def _paragraph(text: str, name: str) -> str:
    if text.startswith("- "):  # a list already
        return text
    linked = _CODE.sub(lambda code: _linked(code, name), _SPACES.sub(" ", text.replace("``", "`")))
    first, *fields = _FIELD.split(linked)
    listed = "\n".join(_FILL(each.strip(), initial_indent="- ", subsequent_indent="  ") for each in fields)
    return "\n\n".join(filter(None, [_FILL(first.strip()), listed]))


def _linked(code: re.Match[str], name: str) -> str:
    is_dotted = f"kip848_records.{code[0].strip('`')}" in NAMES
    is_here = code[1] != name and (is_dotted or (code[1] in _SHORT and code[1][0].isupper()))
    return f"[{code[0]}](#{code[1].lower()})" if is_here else code[0]
