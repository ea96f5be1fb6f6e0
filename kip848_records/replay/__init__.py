"""The replay: log rows of one group after another in, rows of all tables out. Plain Python and Arrow, without Spark.

- `worker` drives it: `reading` decodes log rows, `group_replay` replays the records of one group id, in all its types.
- `incarnations/`: what is between the groups of one group id: migrations to another type, and the state after each.
- `decode/`: columns of decoded records -> values, a column at a time.
- `group/`: what all kinds of groups share: operations, how much of the history is known, states, stays, what a
  coordinator can load.
- `modern/`: what consumer, share and streams groups share.
- `generations/`: what classic groups share, whatever protocol their members speak.
- `consumer/`, `share/`, `streams/`, `classic/`, `connect/`: a kind each, which imports no other. `dispatch` imports
  a kind with its first record, and `classic/` with any group.
- `commits/`: what offset commits say of the partitions that rebalances stopped.
"""
