"""What the simulator knows, beside what the package tells: rows by table, in a form that is compared."""

TABLES = ("epoch_timeline", "rebalance_lag", "partition_handover", "group_state_timeline")
_TO_CAPTURE = {"lag_ms", "revoke_ms", "wait_ms", "duration_ms"}


def comparable(row, columns):
    """The row's columns, less how long what is open has lasted: both sides count to captures of their own."""
    is_open = row.get("status") == "open" or row.get("to_at", 0) is None
    cells = {name: row[name] for name in columns if not (is_open and name in _TO_CAPTURE)}
    if "blocked_by" in cells:
        cells["blocked_by"] = sorted(cells["blocked_by"] or ())
    if cells.get("awaited") is not None:
        cells["awaited"] = sorted(
            (each["topic_id"], each["partition"], each["owner"] or "") for each in cells["awaited"]
        )
    return cells
