-- Each initialized partition of a share group, if a present member subscribes to its topic. owners: how many members have
-- it. free_since: since when no member has it, if owners is 0.
SELECT
    initialized.*, coalesce(owned.present, 0) AS owners,
    greatest(initialized.from_at, owned.ended_at, subscribed.since) AS free_since
FROM (
    SELECT partition, group_id, incarnation, topic_id, topic, from_at, from_offset, history, explode(partitions) AS number
    FROM share_partition_state
    WHERE state = 'initialized' AND to_at IS NULL
) AS initialized
JOIN (
    SELECT partition, group_id, incarnation, topic, min(joined_at) AS since
    FROM (
        SELECT partition, group_id, incarnation, joined_at, explode(topics) AS topic
        FROM membership
        WHERE shares_units(group_type) AND left_offset IS NULL
    ) AS subscriptions
    GROUP BY partition, group_id, incarnation, topic
) AS subscribed
    ON subscribed.partition = initialized.partition AND subscribed.group_id = initialized.group_id
    AND subscribed.incarnation = initialized.incarnation AND subscribed.topic = initialized.topic
LEFT JOIN (
    SELECT
        offsets_partition, group_id, incarnation, topic_id, partition AS number, max(to_at) AS ended_at,
        count(*) - count(to_at) AS present
    FROM ownership
    WHERE shares_units(group_type)
    GROUP BY offsets_partition, group_id, incarnation, topic_id, partition
) AS owned
    ON owned.offsets_partition = initialized.partition AND owned.group_id = initialized.group_id
    AND owned.incarnation = initialized.incarnation AND owned.topic_id = initialized.topic_id
    AND owned.number = initialized.number
