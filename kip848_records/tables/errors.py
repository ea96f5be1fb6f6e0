"""Errors about tables that the user can fix: their location, their writer, and what a command asks of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from kip848_records.errors import InputError
from kip848_records.text import similar_hint

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class TablesError(InputError):
    """Tables that do not exist, or that a command cannot use."""

    @classmethod
    def not_audited(cls, out: str, table: str) -> Self:
        """A folder does not hold the tables of an audit."""
        hint = "pass the folder of kip848 audit --out; audit the log again if an older version wrote the tables"
        return cls(f"{out} has no table {table}", hint)

    @classmethod
    def not_embedded(cls, out: str, reason: str) -> Self:
        """The embedded engine cannot read the tables."""
        return cls(f"the embedded engine cannot read {out}: {reason}", "use --engine spark")

    @classmethod
    def no_such_cluster(cls, out: str, cluster: str | None, clusters: Sequence[str]) -> Self:
        """The folder has no tables of any cluster, or not of that one."""
        what = "of any cluster" if cluster is None else f"of cluster {cluster!r}"
        named = f"pass --cluster with one of {', '.join(map(repr, clusters))}"
        hint = named if clusters else "audit a log with kip848 audit --out"
        return cls(f"{out} has no tables {what}", hint)

    @classmethod
    def several_clusters(cls, group_id: str, clusters: Sequence[str]) -> Self:
        """Several clusters have a group of that name."""
        return cls(f"{len(clusters)} clusters have a group {group_id!r}", f"pass --cluster: {', '.join(clusters)}")

    @classmethod
    def question_of_several_clusters(cls, location: str, question: str, clusters: Sequence[str]) -> Self:
        """A named question is about one cluster."""
        message = f"{question} is a question about one cluster, and {location} has {len(clusters)}"
        return cls(message, f"pass --cluster: {', '.join(clusters)}")

    @classmethod
    def other_writer(cls, out: str) -> Self:
        """Another run is writing to the same tables."""
        return cls(
            f"another run writes to the tables in {out}", "wait until it ends, or pass another folder with --out"
        )

    @classmethod
    def unfinished_run(cls, out: str, cluster: str) -> Self:
        """A run was interrupted while it changed the tables."""
        return cls(
            f"the last run of cluster {cluster!r} in {out} did not finish: its tables are inconsistent",
            "run the same audit again to finish it",
        )

    @classmethod
    def empty_cluster(cls) -> Self:
        """The tables are partitioned by the name of the cluster, and Delta reads an empty name as null."""
        return cls("the name of the cluster is empty", "pass a name with --cluster, or omit the option")


class DamagedError(TablesError):
    """A file of a table cannot be read: a copy of the tables that lacks one, or a faulty disk."""

    @classmethod
    def of(cls, file: str) -> Self:
        """Name the file."""
        message = f"{file}, a file of a table, cannot be read: it is missing, damaged or truncated"
        return cls(message, "copy the tables again, or audit the log again into another folder")


class NoGroupError(TablesError):
    """The tables have no rows of a group."""

    @classmethod
    def named(cls, group_id: str, out: str, groups: Iterable[str], command: str, *, has_commits: bool) -> Self:
        """There are groups of other names, `groups`; `command` lists all.

        Not `has_commits`: the audit skipped offset commits, and a group may have nothing else.
        """
        hint = similar_hint(group_id, groups) or f"this lists the groups: {command}"
        if not group_id:
            return cls(f"the group id is empty, and {out} has no such group", f"pass a group id; {hint}")
        if has_commits:
            return cls(f"there is no group {group_id!r} in {out}", hint)
        hint = f"{hint}; if it only commits offsets, pass --offset-commits to the audit"
        return cls(f"{out} has no membership records of group {group_id!r}", hint)
