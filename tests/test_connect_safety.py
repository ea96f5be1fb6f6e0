"""Transforms stay within what Spark Connect has: nothing in them touches the JVM, RDDs or the driver's memory."""

import ast
from pathlib import Path

import pytest

import kip848_records

_PACKAGE = Path(kip848_records.__file__).parent
_TRANSFORMS = [
    *(_PACKAGE / "sources").glob("*.py"),
    *(_PACKAGE / "decode").glob("*.py"),
    *(_PACKAGE / "timeline").glob("*.py"),
    _PACKAGE / "history.py",
    _PACKAGE / "replay.py",
    _PACKAGE / "topics.py",
]
_BANNED = {
    *("rdd", "sparkContext", "_jvm", "_jdf", "_jsparkSession", "cache", "persist", "checkpoint", "localCheckpoint"),
    *("collect", "toPandas", "toArrow", "toLocalIterator", "foreach", "foreachPartition", "accumulator"),
}
# A few lines of JSON, to tell a dump from any other JSON; a path; one row of counts.
_ALLOWED = {("dump.py", "collect"), ("segments.py", "collect"), ("dialects.py", "collect")}


@pytest.mark.parametrize("path", _TRANSFORMS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_transform_uses_only_what_connect_has(path):
    used = {node.attr for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)}
    assert {name for name in used & _BANNED if (path.name, name) not in _ALLOWED} == set()
