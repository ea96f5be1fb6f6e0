-- name = "unowned_time"
-- sentence = "A partition in some member's target is not without an owner for longer than max_seconds"
-- severity = "error"
-- needs = []
-- about = "partition that was without an owner while a member was to have it"
-- rows_of = "partition_handover"
-- [limits.max_seconds]
-- default = 300
-- unit = "seconds"
-- reason = "Seconds in which no member consumed a partition. A dead member is replaced after its session of 45 s and a rebalance."

-- Of a classic group the time counts in which a generation assigned a partition to no member and no other one followed.
-- The time counts while the partition is in some member's target: a group that is stopped at night misses nothing. It is
-- a lower bound, because the log does not show how long a member was dead before its session expired. It ends with the
-- new owner, when the partition is in no target any more, or at the end of the log.
SELECT
    verdict(
        wanted_ms > max_seconds * 1000,
        (history = 'observed' OR (history = 'right_censored' AND to_member IS NULL)) AND NOT clock_skew
    ) AS verdict,
    group_id, group_epoch, coalesce(to_member, from_member) AS member_id, offsets_partition AS partition,
    coalesce(acquired_offset, released_offset) AS offset,
    CASE WHEN verdict <> 'pass' THEN concat(
        'expected ', text(topic), ' ', text(partition), ' to have an owner again within ', max_seconds_text, ', ',
        CASE WHEN to_member IS NULL
            THEN concat('had none for ', at_least(wanted_ms), ' (after ', text(from_member), ')')
            ELSE concat(
                'took ', at_least(wanted_ms), ' (from ', text(from_member), ' to ', text(to_member), ')'
            )
        END
    ) END AS message
FROM partition_handover
JOIN limits USING (group_id)
WHERE released_at IS NOT NULL AND wanted AND (has_epochs(group_type) OR to_member IS NULL)
