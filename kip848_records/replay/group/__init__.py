"""The common part of all kinds of groups: operations, coverage, history, states, stays, and what Kafka can load."""
