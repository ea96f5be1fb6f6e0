"""The values of text columns that groups of several kinds write: one name for each value."""

from __future__ import annotations

from typing import Final

UNKNOWN: Final = "unknown"
"""The log does not show it."""
UNSEEN: Final = None
"""The value of rows that ended before the history is complete."""

# Causes of an epoch or of a generation.
MEMBER_JOINED: Final = "member_joined"
MEMBER_LEFT: Final = "member_left"
SUBSCRIPTION_CHANGED: Final = "subscription_changed"
REGEX_RESOLVED: Final = "regex_resolved"
TOPIC_METADATA_CHANGED: Final = "topic_metadata_changed"
STATIC_MEMBER_REPLACED: Final = "static_member_replaced"
CREATED: Final = "created"
CONFIG_MISMATCH: Final = "config_mismatch"
PROBING: Final = "probing"

# Why nobody runs a connector or a task of Kafka Connect, which the blocker of a group reads too.
WORKER_LEFT: Final = "worker_left"

# How an epoch, a generation or a rebalance ends.
CONVERGED: Final = "converged"
SUPERSEDED: Final = "superseded"
EMPTIED: Final = "emptied"
DELETED: Final = "deleted"
OPEN: Final = "open"
RECONCILED: Final = "reconciled"

# States of a group.
EMPTY: Final = "Empty"
ASSIGNING: Final = "Assigning"
RECONCILING: Final = "Reconciling"
NOT_READY: Final = "NotReady"
"""A streams group without a topology whose topics are all there."""
STABLE: Final = "Stable"
CONVERGING: Final = (ASSIGNING, RECONCILING)
"""The states that alternate within a rebalance: their time counts as one."""
REBALANCING: Final = (*CONVERGING, NOT_READY)
"""The states of a group that rebalances, unless its kind hides it."""
DEAD: Final = "Dead"
"""Deleted: no state."""

# States of a member; others are `RECONCILED` and `UNKNOWN`.
BEHIND: Final = "behind"
REVOKING: Final = "revoking"
WAITING: Final = "waiting"
AWAY_STATE: Final = "away"

# How a member comes and goes; an upgrade and a downgrade are causes and outcomes, too.
JOINED: Final = "joined"
REPLACED: Final = "replaced"
UPGRADED: Final = "upgraded"
DOWNGRADED: Final = "downgraded"
GROUP_DELETED: Final = "group_deleted"
EXPIRED: Final = "expired"
LEFT: Final = "left"

# States of a share group's partitions.
INITIALIZING: Final = "initializing"
INITIALIZED: Final = "initialized"

# Changes of a partition or a task.
ACQUIRED: Final = "acquired"
REMOVED: Final = "removed"
MOVED: Final = "moved"
KEPT: Final = "kept"
REVOKED: Final = "revoked"

# Modes of a classic rebalance.
COOPERATIVE: Final = "cooperative"
EAGER: Final = "eager"

# Kinds of anomalies.
TWO_OWNERS: Final = "two_owners"
EPOCH_WENT_BACK: Final = "epoch_went_back"
MEMBER_EPOCH_AHEAD: Final = "member_epoch_ahead"
ASSIGNMENT_AHEAD: Final = "assignment_ahead"
TARGET_OVERLAP: Final = "target_overlap"
NAMES_AND_REGEX: Final = "names_and_regex"
ASSIGNOR_VERSIONS: Final = "assignor_versions"
RECORD_NOT_LOADABLE: Final = "record_not_loadable"

FIRST_GENERATION: Final = 1
SHOWN: Final = frozenset({CREATED, EMPTIED, DOWNGRADED})
"""The causes of a generation that one record shows. No member synced a round for them."""
