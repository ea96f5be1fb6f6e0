"""Who blocks an ongoing rebalance at the end of the log, and what to do: the column `group_state.blocker`."""
