-- The tombstones of offset commits that were removed with their topic.
SELECT jumps.offsets_partition, jumps.offset AS removed_offset FROM commit_jump AS jumps WHERE jumps.cause = 'topic_deleted'
