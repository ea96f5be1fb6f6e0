"""Writes each notebook of this folder as an .ipynb beside it, for Jupyter; needs nbformat, which comes with Jupyter.

python notebooks/to_jupyter.py
"""

from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

_HEADER = "# Databricks notebook source\n"
_BETWEEN = "# COMMAND ----------"
_MAGIC = "# MAGIC"
_MARKDOWN = f"{_MAGIC} %md\n"


def to_jupyter(source: str) -> nbformat.NotebookNode:
    """Return what Databricks exports as source as a Jupyter notebook; of its magic commands only ``%md`` is known."""
    cells = [cell.strip("\n") for cell in source.removeprefix(_HEADER).split(_BETWEEN)]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return new_notebook(cells=[_cell(cell) for cell in cells], metadata=kernel)


def _cell(text: str) -> nbformat.NotebookNode:
    if not text.startswith(_MARKDOWN):
        return new_code_cell(text)
    lines = text.removeprefix(_MARKDOWN).split("\n")
    return new_markdown_cell("\n".join(line.removeprefix(_MAGIC).removeprefix(" ") for line in lines))


if __name__ == "__main__":
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if (text := path.read_text(encoding="utf-8")).startswith(_HEADER):
            nbformat.write(to_jupyter(text), path.with_suffix(".ipynb"))
            print(path.with_suffix(".ipynb"))
