{# The offset commits behind the last marker of their producer in the partition, in any copy: those of open transactions.
   An outcome is unknown if the marker cannot be read. Markers are matched by the producer alone: that of a transaction
   that timed out has the next epoch. #}
SELECT
    pending.partition, pending.offset, pending.timestamp, pending.group_id, pending.key, pending.value, pending.producer_id,
    pending.producer_epoch, pending.transaction
FROM (
    SELECT log.*
    FROM {commits} AS log
    WHERE log.transaction IN ('pending', 'unknown') AND log.producer_id >= 0 AND {{ is_readable }} AND {{ is_commit }}
) AS pending
LEFT JOIN (
    SELECT log.partition, log.producer_id, max(log.offset) AS offset
    FROM {commits} AS log
    WHERE log.control IS NOT NULL
    GROUP BY log.partition, log.producer_id
) AS ended ON ended.partition = pending.partition AND ended.producer_id = pending.producer_id
WHERE ended.offset IS NULL OR ended.offset < pending.offset
