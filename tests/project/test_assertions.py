"""Each test asserts something, and none returns before it does: such a test could not fail."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
ASSERTING = {"raises", "warns", "fail"}
"""Functions of pytest that assert."""


def functions_of(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]


def returns_early(body):
    """Whether statements of a test return before they assert; an error that is caught is what a test expected."""
    for statement in body:
        if isinstance(statement, ast.Assert):
            return False
        if isinstance(statement, ast.Return):
            return True
        if isinstance(statement, ast.If | ast.For | ast.While | ast.With | ast.Try):
            parts = (getattr(statement, name, []) for name in ("body", "orelse", "finalbody"))
            if any(map(returns_early, parts)):
                return True
    return False


def asserts_nothing(function):
    """Whether a test neither asserts nor calls anything that could."""
    nodes = [*ast.walk(function)]
    called = [node.func for node in nodes if isinstance(node, ast.Call)]
    names = {getattr(each, "attr", getattr(each, "id", "")) for each in called}
    return not names and not any(isinstance(node, ast.Assert) for node in nodes)


def faults(text):
    return [each.name for each in functions_of(ast.parse(text)) if returns_early(each.body) or asserts_nothing(each)]


@pytest.mark.parametrize(
    "folder", sorted({file.parent for file in TESTS.rglob("test_*.py")}), ids=lambda each: each.name
)
def test_no_test_is_vacuous(folder):
    found = {file.name: faults(file.read_text(encoding="utf-8")) for file in folder.glob("test_*.py")}
    assert {name: each for name, each in found.items() if each} == {}


@pytest.mark.parametrize(
    ("text", "is_fault"),
    [
        ("def test_it():\n    pass", True),
        ("def test_it(a):\n    if not a:\n        return\n    assert a", True),
        ("def test_it(a):\n    def inner():\n        return 1\n    assert inner() == a", False),
        ("def test_it(a):\n    check(a)", False),
        ("def test_it(a):\n    if a:\n        assert a\n        return\n    check(a)", False),
        ("def test_it(a):\n    with a:\n        return\n    assert a", True),
    ],
)
def test_what_is_a_fault(text, is_fault):
    assert bool(faults(text)) == is_fault
