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
    def not_there(cls, out: str, beside: Iterable[str]) -> Self:
        """Nothing exists where tables are to be. `beside`: the names in its folder."""
        near = similar_hint(out.rstrip("/").rpartition("/")[2], beside)
        return cls(f"there is nothing at {out}", near or "pass the folder of kip848 audit --out")

    @classmethod
    def lacks(cls, out: str, cluster: str, what: str, missing: str, way_out: str | None) -> Self:
        """The tables of a cluster do not hold what a question or a command needs: an empty answer would be wrong."""
        return cls(f"{out} cannot answer {what} for cluster {cluster!r}: {missing}", way_out or "ask another question")

    @classmethod
    def not_embedded(cls, out: str, reason: str) -> Self:
        """The embedded engine cannot read the tables."""
        return cls(f"the embedded engine cannot read {out}: {reason}", "use --engine spark")

    @classmethod
    def other_table(cls, out: str, table: str) -> Self:
        """A table of another application has the name of one of this package's tables."""
        return cls(f"the table {table} in {out} was not written by an audit", "pass another location for the tables")

    @classmethod
    def not_for_tables(cls, option: str, out: str) -> Self:
        """An option describes how to read a log, but tables were named."""
        return cls(f"{option} is for a log, but {out} holds the tables of an audit", f"omit {option}")

    @classmethod
    def not_kept(cls, option: str) -> Self:
        """An option compares a run with those before, but the tables of the log are temporary."""
        return cls(
            f"{option} compares an audit with the one before, but the tables of this audit are not kept",
            "pass --out DIR to keep them, or run kip848 audit first and check its folder",
        )

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
    def question_of_several_clusters(cls, place: str, question: str, clusters: Sequence[str]) -> Self:
        """A named question is about one cluster."""
        message = f"{question} is a question about one cluster, and {place} has {len(clusters)}"
        return cls(message, f"pass --cluster: {', '.join(clusters)}")

    @classmethod
    def group_of_other_cluster(cls, group_id: str, cluster: str, clusters: Sequence[str]) -> Self:
        """A cluster has no such group, but others do."""
        return cls(f"cluster {cluster!r} has no group {group_id!r}", f"pass --cluster: {', '.join(clusters)}")

    @classmethod
    def no_such_epoch(cls, group_id: str, epoch: int) -> Self:
        """The log does not contain that epoch of a group."""
        return cls(f"the log has no epoch {epoch} of group {group_id!r}", "omit --epoch to see all epochs")

    @classmethod
    def no_schema(cls, schema: str) -> Self:
        """The catalog has no such schema."""
        return cls(f"there is no schema {schema}", "create it, or check --catalog, --schema and the privileges on both")

    @classmethod
    def no_scratch(cls, schema: str) -> Self:
        """Tables in a schema were named without a scratch folder."""
        return cls(
            f"tables in the schema {schema} need a scratch folder",
            "pass --scratch, such as a folder in a volume, that no other audit uses",
        )

    @classmethod
    def no_place(cls, what: str) -> Self:
        """No location of the tables was given."""
        return cls("no table location given", f"pass {what}, or --catalog and --schema")

    @classmethod
    def half_a_schema(cls) -> Self:
        """A catalog without a schema, or a schema without a catalog."""
        return cls("--catalog and --schema belong together", "pass both, or neither")

    @classmethod
    def two_places(cls, folder: str) -> Self:
        """Both a folder and a schema were named."""
        message = f"the tables are in a schema or in a folder, but {folder} was named too"
        return cls(message, "omit it, or --catalog and --schema")

    @classmethod
    def other_writer(cls, out: str) -> Self:
        """Another run is writing to the same tables."""
        return cls(
            f"another run writes to the tables in {out}", "wait until it ends, or pass another folder with --out"
        )

    @classmethod
    def other_options(cls, dialect: str, *, offset_commits: bool) -> Self:
        """The run decodes with other options than earlier runs did."""
        how = f"--dialect {dialect}, {'with' if offset_commits else 'without'} --offset-commits"
        return cls(f"earlier runs had {how}", "use the same options, or pass another --cluster or --out")

    @classmethod
    def not_for_one_group(cls, out: str) -> Self:
        """Tables that lack the other groups would look as if there were none."""
        return cls(f"an audit of one group would replace the tables in {out}", "pass a folder without tables")

    @classmethod
    def cluster_of_topic(cls, cluster: str, out: str) -> Self:
        """A copy would replace the rows that several runs read from a live topic."""
        return cls(
            f"the tables of cluster {cluster!r} in {out} hold the runs of a live topic",
            "pass another --cluster or --out for a copy",
        )

    @classmethod
    def cluster_of_copy(cls, cluster: str, out: str) -> Self:
        """The rows of a live topic would be mixed with those of a copy."""
        return cls(
            f"the tables of cluster {cluster!r} in {out} hold a copy of the log",
            "pass another --cluster or --out for a live topic",
        )

    @classmethod
    def unfinished_run(cls, out: str, cluster: str) -> Self:
        """A run was interrupted while it changed the tables."""
        return cls(
            f"the last run of cluster {cluster!r} in {out} did not finish: its tables are inconsistent",
            "run the same audit again to finish it",
        )

    @classmethod
    def newer_tables(cls, out: str, found: str, ours: str) -> Self:
        """A newer version wrote the tables."""
        return cls(f"the tables in {out} were written by version {found}, and this is {ours}", "install that version")

    @classmethod
    def unknown_columns(cls, out: str, table: str, columns: Sequence[str]) -> Self:
        """A newer version under development wrote the tables, or someone added a column."""
        message = f"the table {table} in {out} has columns that this version does not know: {', '.join(columns)}"
        return cls(message, "install the version that wrote it, or pass another folder with --out")

    @classmethod
    def empty_cluster(cls) -> Self:
        """The tables are partitioned by the name of the cluster, and Delta reads an empty name as null."""
        return cls("the name of the cluster is empty", "pass a name with --cluster, or omit the option")


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
