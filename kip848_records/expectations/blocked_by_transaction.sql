-- name = "blocked_by_transaction"
-- sentence = "No open transaction keeps the committed offset of an owned partition from its owner"
-- severity = "error"
-- needs = ["offset_commits"]
-- about = "owned partition"
-- [limits.min_silence]
-- default = 0
-- unit = "seconds"
-- reason = "The offset has not moved for so long. 0: that of the audit (diagnosis.not_consumed), by default the owner's rebalance timeout. A transaction that lasts for a moment is none."

-- Consumers ask for stable offsets: the owner of such a partition does not start until the transaction has ended.
SELECT
    verdict(state = 'blocked_by_transaction', (pending_since IS NULL OR state <> 'unknown') AND state <> 'unnamed_topic') AS verdict, group_id,
    CAST(NULL AS int) AS group_epoch, member_id, offsets_partition AS partition, acquired_offset AS offset,
    concat(
        'expected a stable committed offset of ', topic, ' ', CAST(partition AS string), ', a transaction of producer ',
        text(producer_id), ' has been open for ', span(ms_between(pending_since, captured_at)),
        ', and the offset has not moved for ', span(silent_ms)
    ) AS message
FROM consumption_now
