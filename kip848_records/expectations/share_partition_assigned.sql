-- name = "share_partition_assigned"
-- sentence = "An initialized partition that a share group subscribes to is not without a member for longer than max_seconds"
-- severity = "error"
-- needs = []
-- about = "initialized partition to which members of a share group subscribe"
-- rows_of = "share_partition_state"
-- [limits.max_seconds]
-- default = 300
-- unit = "seconds"
-- reason = "No member reads the partition. A dead member is replaced after its session of 45 s."

-- At capture, while the group has members.
SELECT
    verdict(owners = 0 AND is_late, owners > 0 OR is_late OR history = 'right_censored') AS verdict,
    group_id, CAST(NULL AS int) AS group_epoch, CAST(NULL AS string) AS member_id, partition, from_offset AS offset,
    lasted AS lasts_ms,
    concat(
        'expected ', text(topic), ' ', text(number), ' to have a member within ', max_seconds_text, ', has had none for ',
        at_least(lasted)
    ) AS message
FROM (
    SELECT
        subscribed_shares.*, max_seconds_text, lasted_ms(free_since, captures.captured_at) AS lasted,
        lasted_ms(free_since, captures.captured_at) > max_seconds * 1000 AS is_late
    FROM subscribed_shares
    LEFT JOIN captures ON captures.partition = subscribed_shares.partition
    JOIN limits ON limits.group_id = subscribed_shares.group_id
) AS late
