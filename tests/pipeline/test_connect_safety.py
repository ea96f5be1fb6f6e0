"""The package asks of a session only what Spark Connect has: no JVM, no RDD, nothing kept in the executors' memory.

Delta's own Python classes are not among it: they need a plugin in the server, and say the same as SQL.

Rows come to the driver only where it is said why.
"""

import ast
from pathlib import Path

import pytest

import kip848_records

_PACKAGE = Path(kip848_records.__file__).parent
_MODULES = sorted(_PACKAGE.rglob("*.py"))
_SPARK = {"delta", "py4j", "pyspark"}
_BANNED = {
    *("rdd", "sparkContext", "SparkContext", "_active_spark_context", "_sc", "accumulator"),
    *("py4j", "java_gateway", "_gateway", "_jvm", "_jsc", "_jdf", "_jsparkSession"),
    *("delta", "toDDL"),
    *("cache", "persist", "checkpoint", "localCheckpoint"),
    *("collect", "toPandas", "toArrow", "toLocalIterator", "foreach", "foreachPartition"),
}
_ALLOWED = {
    "spark/session.py": {
        "SparkContext": "where nobody offers a session, it starts a JVM for one",
        "_active_spark_context": "a program may have a context, and no session yet",
        "java_gateway": "starts the JVM, so that its output is caught, and an interrupt can end it",
    },
    "machine/paths.py": {
        "_jsc": "asks a session that has it where files lie; one of Connect has none, and is not asked"
    },
    "decode/dialects.py": {"collect": "a row of counts"},
    "log/continuity.py": {"collect": "a row for each partition"},
    "log/retention.py": {"collect": "a row for each partition"},
    "pipeline/consumption_troubles.py": {"collect": "a row for each partition that stands still, and for each loss"},
    "pipeline/moved_groups.py": {"collect": "a row for each partition whose offset a group left behind"},
    "pipeline/maintain.py": {"collect": "a number"},
    "engines/spark/engine.py": {
        "toArrow": "a few rows",
        "collect": "a path",
        "toLocalIterator": "the rows that people asked for, one after the other",
    },
    "engines/spark/rows.py": {"toArrow": "names of topics, where Spark alone can read them"},
    "pipeline/topic.py": {"collect": "a row for each partition"},
    "log/coverage.py": {"collect": "a row for each partition"},
    "sources/dump.py": {"collect": "where each partition of a dump starts and ends"},
    "sources/json_dump.py": {"collect": "a row of facts about the lines"},
    "cli/inspect.py": {"collect": "the ids of the groups"},
    "sources/topic/fetched.py": {"collect": "a row for each file that was fetched"},
    "sources/known_keys.py": {"collect": "a row, if there is any"},
    "log/views.py": {"collect": "the names of the clusters"},
    "queries/spark.py": {"toArrow": "the answer to a query"},
}
"""By module: what it may use all the same, and why."""


@pytest.mark.parametrize("name", [module.relative_to(_PACKAGE).as_posix() for module in _MODULES])
def test_a_module_uses_only_what_connect_has(name):
    used = set(names_in(ast.parse((_PACKAGE / name).read_text())))
    assert used & _BANNED == _ALLOWED.get(name, {}).keys()


def test_what_is_allowed_is_there():
    assert {_PACKAGE / name for name in _ALLOWED} <= set(_MODULES)


def names_in(tree):
    """Names of attributes, also where `getattr` asks for them, and those imported from Spark."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name):
                yield name
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=name), *_]):
                yield name
            case ast.Import(names=names):
                yield from parts_of_spark(alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield from parts_of_spark(f"{module}.{alias.name}" for alias in names)


def parts_of_spark(paths):
    for path in paths:
        root, *parts = path.split(".")
        yield from [root, *parts] if root in _SPARK else []
