"""What a user can put right about tables: where they are, whose they are, what is asked of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self


class TablesError(InputError):
    """Tables that are not there, or not such as a command needs."""

    @classmethod
    def not_audited(cls, out: str, table: str) -> Self:
        """A folder does not hold the tables of an audit."""
        hint = "name the folder that was given to kip848 audit --out, or audit the log again if an older version did"
        return cls(f"{out} has no table {table}", hint)

    @classmethod
    def other_table(cls, out: str, table: str) -> Self:
        """Someone else's table has the name of one of ours."""
        return cls(f"the table {table} in {out} is not of an audit", "name another place for the tables of audits")

    @classmethod
    def not_for_tables(cls, option: str, out: str) -> Self:
        """An option says how to read a log, but tables were named."""
        return cls(f"{option} is for a log, and {out} holds the tables of an audit", f"leave out {option}")

    @classmethod
    def no_such_cluster(cls, out: str, cluster: str | None, clusters: Sequence[str]) -> Self:
        """Nothing was audited into a folder, or not that cluster."""
        what = "of any cluster" if cluster is None else f"of cluster {cluster!r}"
        hint = f"there is {', '.join(map(repr, clusters))}" if clusters else "audit a log with kip848 audit --out"
        return cls(f"{out} has no tables {what}", hint)

    @classmethod
    def no_such_group(cls, group_id: str, out: str, similar: Sequence[str]) -> Self:
        """Nothing is known of a group."""
        hint = f"there is {', '.join(map(repr, similar))}" if similar else "the table group_state lists all groups"
        return cls(f"there is no group {group_id!r} in {out}", hint)

    @classmethod
    def several_clusters(cls, group_id: str, clusters: Sequence[str]) -> Self:
        """Several clusters have a group of that name."""
        return cls(f"{len(clusters)} clusters have a group {group_id!r}", f"pass --cluster: {', '.join(clusters)}")

    @classmethod
    def group_of_other_cluster(cls, group_id: str, cluster: str, clusters: Sequence[str]) -> Self:
        """A cluster has no such group, but others do."""
        return cls(f"cluster {cluster!r} has no group {group_id!r}", f"pass --cluster: {', '.join(clusters)}")

    @classmethod
    def no_such_epoch(cls, group_id: str, epoch: int) -> Self:
        """The log does not have that epoch of a group."""
        return cls(f"the log has no epoch {epoch} of group {group_id!r}", "leave out --epoch to see all that it has")

    @classmethod
    def no_schema(cls, schema: str) -> Self:
        """A catalog has no such schema."""
        return cls(f"there is no schema {schema}", "create it, or check --catalog, --schema and the right to use both")

    @classmethod
    def no_scratch(cls, schema: str) -> Self:
        """What tables in a catalog are made of has no folder."""
        return cls(
            f"tables in the schema {schema} need a folder for what they are made of",
            "name one with --scratch, such as a folder in a volume, that no other audit uses",
        )

    @classmethod
    def no_place(cls, what: str) -> Self:
        """Nobody said where the tables are."""
        return cls("it is not said where the tables are", f"name {what}, or --catalog and --schema")

    @classmethod
    def half_a_schema(cls) -> Self:
        """A catalog without a schema, or the other way round."""
        return cls("--catalog and --schema belong together", "name both, or neither")

    @classmethod
    def two_places(cls, folder: str) -> Self:
        """A folder and a schema were named."""
        return cls(f"the tables are in a schema or in a folder, and {folder} was named too", "leave out one of them")

    @classmethod
    def other_writer(cls, out: str) -> Self:
        """Another run writes to the same tables."""
        return cls(
            f"another run writes to the tables in {out}", "wait until it is done, or name another folder with --out"
        )

    @classmethod
    def other_options(cls, dialect: str, *, offset_commits: bool) -> Self:
        """A run decodes otherwise than the runs before it did."""
        how = f"--dialect {dialect} and {'with' if offset_commits else 'without'} --offset-commits"
        return cls(f"the runs before this one were made {how}", "do the same, or name another --cluster or --out")

    @classmethod
    def cluster_of_topic(cls, cluster: str, out: str) -> Self:
        """A copy would replace what was read from a live topic, night after night."""
        return cls(
            f"the tables of cluster {cluster!r} in {out} are of a live topic, run by run",
            "name another --cluster or --out for a copy",
        )

    @classmethod
    def cluster_of_copy(cls, cluster: str, out: str) -> Self:
        """What is read from a live topic would be mixed with a copy's."""
        return cls(
            f"the tables of cluster {cluster!r} in {out} are of a copy of the log",
            "name another --cluster or --out for a live topic",
        )

    @classmethod
    def checkpoint_ahead(cls, checkpoint: str, out: str) -> Self:
        """A stream would go on behind rows that the tables do not have."""
        return cls(
            f"the checkpoint {checkpoint} is further than the tables in {out}",
            "name another folder with --checkpoint: what the tables have already is not added twice",
        )

    @classmethod
    def unfinished_run(cls, out: str, cluster: str) -> Self:
        """A run was interrupted while it changed the tables."""
        return cls(
            f"the last run of cluster {cluster!r} in {out} did not finish: its tables do not fit together",
            "run the same audit again, which finishes it",
        )

    @classmethod
    def newer_tables(cls, out: str, found: str, ours: str) -> Self:
        """A newer version wrote the tables."""
        return cls(f"the tables in {out} were written by version {found}, and this is {ours}", "install that version")

    @classmethod
    def empty_cluster(cls) -> Self:
        """A cluster's name partitions the tables, and Delta takes an empty one for null."""
        return cls("the name of the cluster is empty", "name it with --cluster, or leave that out")
