-- name = "hanging_transaction"
-- sentence = "A transaction with offset commits has its marker within max_timeout and grace: no transaction hangs"
-- severity = "error"
-- needs = ["offset_commits"]
-- about = "partition of the log"
-- [limits.max_timeout]
-- default = 900
-- unit = "seconds"
-- reason = "Kafka's default of transaction.max.timeout.ms, the longest timeout that a client may set. Set it as your brokers have it."
-- [limits.grace]
-- default = 300
-- unit = "seconds"
-- reason = "By then the transaction coordinator has aborted a transaction that timed out, even if its broker had to be replaced."

-- A partition in which none is open passes, if no record of it was lost. Only its coordinator ends a transaction. If one is open for longer than any may be, its coordinator has lost it.
SELECT
    CASE WHEN status = 'open' THEN verdict(is_late, true) ELSE verdict(true, status = 'unnamed' AND is_late) END AS verdict,
    known_group AS group_id, CAST(NULL AS int) AS group_epoch, CAST(NULL AS string) AS member_id, partition,
    opened.first_offset AS offset, age_ms AS lasts_ms,
    concat(
        'expected a marker within ', max_timeout_text, ' and ', grace_text, ' of grace, ',
        CASE
            WHEN status = 'unnamed' THEN concat('the last stable offset stands for ', at_least(age_ms))
            WHEN status = 'unknown' THEN concat('the log does not show it for producer ', text(producer_id))
            ELSE concat('that of producer ', text(producer_id), ' is open for ', span(age_ms))
        END,
        CASE WHEN waiting IS NULL THEN '' ELSE concat(
            ': ', counted(waiting, committed offset), ' of ', array_join(group_ids, ', '), ' wait for it, ',
            counted(records_behind, record), ' stand behind it'
        ) END
    ) AS message
FROM (
    SELECT
        now.*, present.group_id AS known_group, limits.max_timeout_text, limits.grace_text,
        now.age_ms > (limits.max_timeout + limits.grace) * 1000 AS is_late
    FROM open_transactions_now AS now
    LEFT JOIN group_state AS present ON present.partition = now.partition AND present.group_id = now.group_id
    JOIN limits ON limits.group_id IS NOT DISTINCT FROM present.group_id
) AS opened
UNION ALL
SELECT
    verdict(false, every.first_lost_offset IS NULL), NULL, NULL, NULL, every.partition, every.first_lost_offset, NULL,
    'none is seen, but records were lost'
FROM partition_history AS every
WHERE every.is_base AND coalesce(every.last_offset >= every.first_offset, true)
    AND NOT EXISTS (SELECT 1 FROM open_transactions_now AS found WHERE found.partition = every.partition)
