"""Walks that are observed: an object keeps the truth of what happens in them, as rows of tables."""

from kip848_records.simulate.commits import no_commits
from kip848_records.simulate.walks.walk import Walk
from kip848_records.specs.tables import REPLAYED
from tests.simulator.truth.rows import At, with_offsets

_PARTITION = {
    name: "offsets_partition" if any(each.name == "offsets_partition" for each in table.columns) else "partition"
    for name, table in REPLAYED.items()
}
"""Table -> the column with the partition of `__consumer_offsets`."""


class Observed(Walk):
    """A walk with rows of the truth. `truth` is told of each event by a method of the event's name; None: nobody is.

    `rows`: the rows that have ended, by table; times in ms, offsets as `At`. They may have more fields than their
    tables have columns. `partition`: that of `__consumer_offsets`.
    """

    TABLES = ()
    """The tables that the truth has the rows of."""
    partition = 0
    truth = None

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.incarnation = 0
        self.rows = {table: [] for table in self.TABLES}

    def tell(self, event, *facts):
        if self.truth is not None:
            getattr(self.truth, event)(*facts)

    def offset(self):
        """Return the offset of the record that was written last."""
        return At(self._operation, self._operation.size - 1)

    def end_of_operation(self):
        """Return the offset of the last record of the latest operation, which may get more of them."""
        return At(self._operation)

    def wrote_now(self):
        """Return whether the present time has an operation."""
        return self._operation is not None and self._operation.time == self.now

    def take_commits(self, until):  # noqa: ARG002 - some groups commit
        """Return and remove the offset commits before a time (ms)."""
        return no_commits()

    def note(self, table, row):
        """Add a row that has ended; `row` has neither partition nor group id."""
        partition = _PARTITION.get(table, "offsets_partition")
        self.rows[table].append({partition: self.partition, "group_id": self.group_id, **row})

    def close(self, captured_at):
        """End all open rows: the log was captured at a time (ms)."""
        if self.truth is not None:
            self.truth.close(captured_at)

    def take(self):
        """Return the rows by table, when the log has all operations."""
        return {table: list(map(with_offsets, rows)) for table, rows in self.rows.items()}
