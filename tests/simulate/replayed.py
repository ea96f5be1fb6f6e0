"""The plain replay of a simulated log, which nothing is missing from, told in the names of the truth."""

from tests.timeline.plain_replay import replay

TIMELINES = ("epoch_timeline", "rebalance_lag", "partition_handover", "group_state_timeline")


def replayed(records, captured_at):
    """The rows of each timeline; they have some columns more than those of the truth."""
    told = replay(records, {record["partition"]: 0 for record in records}, captured_at)
    return {timeline: [told_as_truth(row) for row in told[timeline]] for timeline in TIMELINES}


def told_as_truth(row):
    """The truth knows no names of topics."""
    if not row.get("awaited"):
        return row
    awaited = [
        {"topic_id": topic, "partition": number, "owner": owner} for topic, _, number, owner, _ in row["awaited"]
    ]
    return row | {"awaited": awaited}
