"""The page of the Python API has every name that the documentation and the notebooks use."""

import ast

import pytest

from tests.docs.pages import DOCS, ROOT, examples, pages
from tests.docs.python_api import NAMES

NOTEBOOKS = sorted(ROOT.glob("notebooks/*.py"))


def imported(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kip848_records"):
            yield from (f"{node.module}.{each.name}" for each in node.names)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_uses_public_names_only(notebook):
    assert {*imported(notebook.read_text(encoding="utf-8"))} <= {*NAMES}


def test_the_documentation_uses_public_names_only():
    written = (each for page in pages() if page.parent != DOCS / "reference" for each in examples(page))
    used = {name for each in written if each.language == "python" for name in imported(each.text)}
    assert "kip848_records.decode.decode" in used
    assert used <= {*NAMES}
