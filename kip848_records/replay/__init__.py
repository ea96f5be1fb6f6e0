"""Replay the records of a group in offset order, as Kafka's `GroupMetadataManager.replay` does, into rows of history.

Plain Python and Arrow, without PySpark. Read the modules in this order:

- `worker`: log rows in, rows of all tables out; `reading`, `log_rows`, `columns` and `values` decode to the types of
  `records`.
- `group`: one group id; splits its records into operations and incarnations, and finds where the history is complete
  (`coverage`).
- `consumer`: the change by each record of a consumer group (`member`, `targets`, `causes`).
- `classic`: a classic group; `classic_values` parses what its members say of themselves; `generations`, `generation`,
  `generation_cause` and `last_owners` compare a generation with the one before.
- `streams`: a streams group is a consumer group of `tasks`; `streams_causes`, `streams_waits`, `task_targets`,
  `task_ownership` and `task_anomalies` are the parts that differ. `share`: a share group, with `share_causes`,
  `share_ownership` and `share_partitions`. `ownership_intervals` has the intervals of both.
- `operation_end`: the result of an operation, table by table: `epochs`, `reconciliation`, `ownership`, `rebalances`
  with `open_rebalance` and `waits`, `memberships`, `states`, `anomalies`.
- `context` keeps the rows until the group ends (`spill`: in a file, if they are many); `history` finishes them.
"""
