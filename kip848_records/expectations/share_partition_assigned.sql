-- name = "share_partition_assigned"
-- sentence = "An initialized partition that a share group subscribes to is not without a member for longer than max_seconds"
-- severity = "error"
-- [limits.max_seconds]
-- default = 300
-- unit = "seconds"
-- reason = "No member reads the partition. A dead member is replaced after its session of 45 s."

-- The partitions that are without a member at capture, while the group has members.
SELECT
    verdict(is_late, is_late OR history = 'right_censored') AS verdict,
    CAST(NULL AS string) AS severity,
    group_id, CAST(NULL AS int) AS group_epoch, CAST(NULL AS string) AS member_id, partition, from_offset AS offset,
    concat(
        'expected ', text(topic), ' ', text(number), ' to have a member within ', max_seconds_text, ' s, has had none for ',
        at_least(lasted)
    ) AS message
FROM (
    SELECT
        initialized.*, max_seconds_text,
        age_ms(greatest(initialized.from_at, owners.ended_at, subscribed.since)) AS lasted,
        age_ms(greatest(initialized.from_at, owners.ended_at, subscribed.since)) > max_seconds * 1000 AS is_late
    FROM (
        SELECT partition, group_id, incarnation, topic, from_at, from_offset, history, explode(partitions) AS number
        FROM share_partition_state
        WHERE state = 'initialized' AND to_at IS NULL
    ) AS initialized
    JOIN (
        SELECT partition, group_id, incarnation, topic, min(joined_at) AS since
        FROM (
            SELECT partition, group_id, incarnation, joined_at, explode(topics) AS topic
            FROM membership
            WHERE group_type = 'share' AND left_offset IS NULL
        ) AS subscriptions
        GROUP BY partition, group_id, incarnation, topic
    ) AS subscribed
        ON subscribed.partition = initialized.partition AND subscribed.group_id = initialized.group_id
        AND subscribed.incarnation = initialized.incarnation AND subscribed.topic = initialized.topic
    LEFT JOIN (
        SELECT
            offsets_partition, group_id, incarnation, topic, partition AS number, max(to_at) AS ended_at,
            count(*) - count(to_at) AS present
        FROM ownership
        WHERE group_type = 'share'
        GROUP BY offsets_partition, group_id, incarnation, topic, partition
    ) AS owners
        ON owners.offsets_partition = initialized.partition AND owners.group_id = initialized.group_id
        AND owners.incarnation = initialized.incarnation AND owners.topic = initialized.topic
        AND owners.number = initialized.number
    JOIN limits ON limits.group_id = initialized.group_id
    WHERE coalesce(owners.present, 0) = 0
) AS late
