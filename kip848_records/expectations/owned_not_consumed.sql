-- name = "owned_not_consumed"
-- sentence = "An owned partition whose messages wait is consumed: its committed offset moves, or has not stood still for min_silence"
-- severity = "warn"
-- [limits.min_silence]
-- default = 0
-- unit = "seconds"
-- reason = "0: as long as the rules ask for, at least the owner's rebalance timeout. Larger where clients work on a batch for longer than that."

-- A suspicion: only what another group has committed, or that all partitions of one member stopped, shows that messages wait.
SELECT
    verdict(now.state = 'suspected' AND now.silent_ms >= limits.min_silence * 1000, now.state <> 'unknown') AS verdict,
    CAST(NULL AS string) AS severity, now.group_id, CAST(NULL AS int) AS group_epoch, now.member_id,
    now.offsets_partition AS partition, now.acquired_offset AS offset,
    concat(
        'expected progress in ', now.topic, ' ', CAST(now.partition AS string), ', suspected: its committed offset ',
        coalesce(concat(CAST(now.committed AS string), ' '), ''), 'has not moved for ', span(now.silent_ms),
        CASE
            WHEN now.evidence = 'messages_waiting'
                THEN concat(', and ', now.ahead_group, ' has read ', counted(now.ahead_by, offset), ' more')
            WHEN now.evidence = 'member_stopped' THEN ', as all partitions of its owner, while other members go on'
            ELSE ''
        END
    ) AS message
FROM consumption_now AS now
JOIN limits ON limits.group_id IS NOT DISTINCT FROM now.group_id
