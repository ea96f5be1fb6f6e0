-- Transactions that have been open for longer than some ms, the oldest first.
SELECT producer_id, group_ids, waiting, age_ms
FROM open_transactions_now
WHERE status <> 'unnamed' AND age_ms > :longer_ms
ORDER BY age_ms DESC, partition, producer_id
