"""The resources that the relations of the embedded engine share: a database, a folder for files, and a budget."""

from __future__ import annotations

import shutil
from functools import cached_property
from itertools import count
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING
from weakref import finalize

from kip848_records.machine.budget import Budget
from kip848_records.queries.duck import new_database

if TYPE_CHECKING:
    import duckdb


class Space:
    """The resources that relations share: a database, a folder for files, and a budget of memory and cores.

    `sources`: the files that DuckDB reads, because its errors do not always name one.
    """

    def __init__(self, budget: Budget | None = None) -> None:
        self.sources: list[Path] = []
        self._budget = budget
        self._folder: Path | None = None
        self._own_folder: Path | None = None
        self._numbers = count()
        self._database: duckdb.DuckDBPyConnection | None = None

    @cached_property
    def budget(self) -> Budget:
        """The memory and the cores; measured when they are needed first."""
        return self._budget or Budget.of_machine()

    def use(self, folder: Path | None) -> None:
        """Write files into a folder from now on; None: into one of this process."""
        self.close()
        self._folder = folder

    def path(self, name: str) -> Path:
        """Return a path of a file or folder that does not exist."""
        folder = self._folder
        if folder is None:
            if self._own_folder is None:
                self._own_folder = Path(mkdtemp(prefix="kip848-"))
                finalize(self, shutil.rmtree, self._own_folder, ignore_errors=True)
            folder = self._own_folder
        return folder / f"{next(self._numbers)}-{name}"

    def new_folder(self, name: str) -> Path:
        """Return a new folder."""
        path = self.path(name)
        path.mkdir()
        return path

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Return a connection of its own, so that several answers can be read at a time."""
        if self._database is None:
            database = new_database(str(self.path("spilled")), self.budget.database)
            database.execute(f"SET GLOBAL threads = {self.budget.cores}")
            self._database = database
        return self._database.cursor()

    def close(self) -> None:
        """Close the database and remove the folder of this process."""
        if self._database is not None:
            self._database.close()
            self._database = None
        if self._own_folder is not None:
            shutil.rmtree(self._own_folder, ignore_errors=True)
            self._own_folder = None
