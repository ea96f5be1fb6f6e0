-- question = "Which partitions have an owner, but nobody seems to consume them, since when, and what shows it?"
-- note = "A suspicion, no proof: a client may work on one batch for long."
-- needs = ["offset_commits"]
-- about = "owned partition"
-- among = "consumption_now"
-- undecided = "state NOT IN ('progress', 'caught_up', 'too_short')"
-- empty = "No partition seems not to be consumed"
SELECT
  group_id, topic, partition, coalesce(instance_id, client_id, member_id) AS owner, state,
  evidence, committed, silent_ms, waits_since, ahead_by, ahead_group, end_offset, lag, end_offsets_at, is_committing,
  pending_since, producer_id
FROM consumption_now
WHERE state IN ('suspected', 'blocked_by_transaction')
ORDER BY silent_ms DESC, group_id, topic, partition
