"""The rows of one group in the tables of an audit."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kip848_records.expectations.captures import capture_limits
from kip848_records.report.group_section import with_rows
from kip848_records.report.sql import query
from kip848_records.tables.errors import NoGroupError, TablesError
from kip848_records.tables.location import groups_command, location_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kip848_records.queries.tables import Parameter, Row, Tables
    from kip848_records.report.group_section import GroupSection


_CHOSEN: Final = "SELECT DISTINCT partition, group_id FROM group_state_timeline WHERE group_id = :group"


class Incarnation(NamedTuple):
    """One incarnation of a group in one partition of the log, from its first record to its deletion."""

    partition: int
    incarnation: int


class GroupHistory:
    """The rows of one group in the tables of an audit.

    Raises InputError if there is no such group, or if `cluster` is None and several clusters have it.

    A group that was deleted and created again has several incarnations. So has a group in two partitions, for example
    after partitions were added to the topic. `incarnations` lists all of them in the order of their ends; one that
    still exists comes last. `shown`: where the tables are, as the user named it.
    `has_commits`: whether the offset commits of the cluster were decoded.
    `limits`: what limits the ages of open groups in the cluster. `changed_limits`: those of its diagnosis that are not
    the defaults.
    """

    def __init__(self, tables: Tables, group_id: str, cluster: str | None) -> None:
        self.group_id = group_id
        self.shown = tables.shown
        self._tables = tables
        found = tables.rows(query("incarnations"), group=group_id)
        clusters = sorted({row.cluster for row in found})
        if not clusters:
            groups = [row.group_id for row in tables.rows(query("groups"), cluster)]
            has_commits = all(run.offset_commits for run in tables.runs() if cluster in {None, run.cluster})
            command = groups_command(tables.shown)
            raise NoGroupError.named(group_id, location_text(tables.shown), groups, command, has_commits=has_commits)
        if cluster is None and len(clusters) > 1:
            raise TablesError.several_clusters(group_id, clusters)
        if cluster is not None and cluster not in clusters:
            raise TablesError(
                f"cluster {cluster!r} has no group {group_id!r}", f"pass --cluster: {', '.join(clusters)}"
            )
        self.cluster = clusters[0] if cluster is None else cluster
        self.incarnations = [
            Incarnation(row.partition, row.incarnation) for row in found if row.cluster == self.cluster
        ]
        (run,) = (run for run in tables.runs() if run.cluster == self.cluster)
        self.has_commits, self.changed_limits = run.offset_commits, run.changed_limits
        self.limits = capture_limits(tables, self.cluster)

    @cached_property
    def states(self) -> Sequence[Row]:
        """The rows of `group_now`: the group in each partition that has it; none if it was deleted."""
        return self.rows("group_now")

    def with_rows(self, sections: Sequence[GroupSection]) -> list[GroupSection]:
        """Return those of the sections that may have rows: all but those whose tables have none in the cluster."""
        return with_rows(self._tables, self.cluster, sections)

    def rows(self, name: str, incarnation: Incarnation | None = None, **parameters: Parameter) -> list[Row]:
        """Return the answer to a question about the group, or about one of its incarnations, as `Tables.rows` does.

        `name`: a file of `kip848_records/report/sql/`, without its ending, such as `rebalances`.
        """
        selection = {} if incarnation is None else incarnation._asdict()
        return self._tables.rows(query(name), self.cluster, group=self.group_id, **selection, **parameters)

    def section(
        self, section: GroupSection, incarnation: Incarnation | None = None, where: str = "", **parameters: Parameter
    ) -> list[dict[str, Any]]:
        """Return the rows of a section about this group, in all partitions that had it, or about an incarnation.

        `where`: a condition in SQL instead of that of the section, with `parameters`.
        """
        selection = {} if incarnation is None else incarnation._asdict()
        own = " AND ".join([where or section.where, *(f"{name} = :{name}" for name in selection)])
        text = section.query_of(own, chosen=_CHOSEN)
        answer = self._tables.arrow(text, self.cluster, group=self.group_id, **selection, **parameters)
        rows: list[dict[str, Any]] = answer.to_pylist()
        return rows

    def incarnation_with(self, epoch: int) -> Incarnation:
        """Return the last incarnation with an epoch. Raises InputError if there is none."""
        found = {
            Incarnation(row.partition, row.incarnation) for row in self.rows("incarnations_with_epoch", epoch=epoch)
        }
        incarnations = [incarnation for incarnation in self.incarnations if incarnation in found]
        if not incarnations:
            raise TablesError(
                f"the log has no epoch {epoch} of group {self.group_id!r}", "omit --epoch to see all epochs"
            )
        return incarnations[-1]
