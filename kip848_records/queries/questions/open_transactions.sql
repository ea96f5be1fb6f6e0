-- Which transactions keep committed offsets from consumers, since when, and what else do they block?
-- Needs an audit with --offset-commits. Young ones are normal. kafka-transactions names them by producer and first_offset.
SELECT partition, producer_id, producer_epoch, status, array_join(group_ids, ', ') AS group_ids, waiting, records,
       first_offset, first_at, age_ms, blocks_from, records_behind
FROM open_transactions_now
ORDER BY age_ms DESC, partition, first_offset, producer_id
