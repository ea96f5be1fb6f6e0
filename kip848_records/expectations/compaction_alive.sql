-- name = "compaction_alive"
-- sentence = "The cleaner comes to each partition of __consumer_offsets, as it does to the others"
-- severity = "error"
-- needs = []
-- about = "partition of segment files with enough segments to compare"

-- A coordinator reads the whole partition before it serves its groups. How compaction_now compares is in its header.
SELECT
    verdict(now.state = 'not_cleaned', now.state IN ('not_cleaned', 'cleaned')) AS verdict,
    CAST(NULL AS string) AS group_id, CAST(NULL AS int) AS group_epoch,
    CAST(NULL AS string) AS member_id, now.partition, coalesce(now.cleaned_until, now.first_offset) AS offset,
    CASE
        WHEN now.state = 'no_cleaning_shown' THEN concat(
            'no partition of ', now.copy, ' shows that the cleaner removed a record, so nothing can be compared; here ',
            counted(now.dirty_records, record), ' of ', counted(now.dirty_keys, key), ' are in ',
            counted(now.dirty_files, segment)
        )
        WHEN now.state = 'alone' THEN concat(
            'no other partition of ', now.copy, ' shows that the cleaner removed a record, so nothing can be compared'
        )
        ELSE concat(
            'expected it to be cleaned as other partitions are, it has not been cleaned since ',
            coalesce(substring(CAST(now.dirty_since AS string), 1, 19), '?'), ' UTC, ', span(now.dirty_ms),
            ' before the capture: ', counted(now.dirty_records, record), ' of ', counted(now.dirty_keys, key), ', ',
            thousands(CAST(ceil(now.dirty_bytes / 1000) AS bigint)), ' kB in ', counted(now.dirty_files, segment),
            ', where others have ', thousands(CAST(ceil(now.usual_bytes / 1000) AS bigint)), ' kB of ', span(now.usual_ms),
            CASE
                WHEN now.open_transactions > 0 THEN concat(
                    '. A transaction of ', coalesce(array_join(now.open_groups, ', '), '?'), ' is open from offset ',
                    text(now.open_from), ' on: the cleaner does not pass it'
                )
                WHEN now.open_transactions = 0
                    THEN '. Look for a log-cleaner thread that has died, or a record that is too large: no transaction is open'
                ELSE '. Look for a log-cleaner thread that has died, a hanging transaction, or a record that is too large'
            END
        )
    END AS message
FROM compaction_now AS now
WHERE now.state <> 'short' AND (now.state <> 'no_cleaning_shown' OR now.nth = 1)
