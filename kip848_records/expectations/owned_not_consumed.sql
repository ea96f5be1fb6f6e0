-- name = "owned_not_consumed"
-- sentence = "An owned partition whose messages wait is consumed: its committed offset moves, or has not stood still for min_silence, and three times its longest step and its owner's rhythm"
-- severity = "warn"
-- needs = ["offset_commits"]
-- about = "owned partition"
-- [limits.min_silence]
-- default = 0
-- unit = "seconds"
-- reason = "0: that of the audit (diagnosis.not_consumed), by default the owner's rebalance timeout: a member that works longer on a batch leaves the group."

-- A partition that a transaction blocks is of `blocked_by_transaction`. A suspicion: only what another group has committed, where the topic ended before, or that all partitions of one member
-- stopped, shows that messages wait.
SELECT
    verdict(now.state = 'suspected', now.state IN ('suspected', 'progress', 'caught_up', 'too_short')) AS verdict,
    now.group_id, CAST(NULL AS int) AS group_epoch, now.member_id,
    now.offsets_partition AS partition, now.acquired_offset AS offset,
    now.silent_ms AS lasts_ms,
    concat(
        'expected progress in ', now.topic, ' ', CAST(now.partition AS string),
        CASE WHEN now.state = 'suspected' THEN ', suspected' ELSE '' END, ': its committed offset ',
        coalesce(CAST(now.committed AS string) || ' ', ''), 'has not moved for ', span(now.silent_ms),
        CASE
            WHEN now.state = 'never_commits' THEN ', and the group commits nothing'
            WHEN now.state = 'unknown' THEN ', as far as the log shows'
            WHEN now.state = 'unnamed_topic'
                THEN ', as far as the log shows: it does not have the name of this topic id (--topics)'
            WHEN now.state = 'negative_offset' THEN ', and a negative one was committed, which is none'
            WHEN now.state <> 'suspected' THEN ', and the log does not show since when messages wait, if any do (--end-offsets)'
            WHEN now.evidence = 'messages_waiting' AND now.ahead_group IS NULL
                THEN concat(', and ', counted(now.lag, offset), ' wait')
            WHEN now.evidence = 'messages_waiting'
                THEN concat(', and ', now.ahead_group, ' has read ', counted(now.ahead_by, offset), ' more')
            WHEN now.evidence = 'member_stopped' THEN ', as all partitions of its owner, while other members go on'
            ELSE ''
        END
    ) AS message
FROM consumption_now AS now
WHERE now.state <> 'blocked_by_transaction'
