-- question = "Which transactions keep committed offsets from consumers, since when, and what else do they block?"
-- note = "Young ones are normal. kafka-transactions names them by producer and first_offset."
-- needs = ["offset_commits"]
-- about = "committed offset"
-- among = "latest_state WHERE is_offset_commit(key_type)"
-- empty = "No transaction with offset commits is open"
SELECT partition, producer_id, producer_epoch, status, array_join(group_ids, ', ') AS group_ids, waiting, records,
       first_offset, first_at, age_ms, blocks_from, records_behind
FROM open_transactions_now
ORDER BY age_ms DESC, partition, first_offset, producer_id
