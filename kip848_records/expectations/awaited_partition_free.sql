-- name = "awaited_partition_free"
-- sentence = "A partition that a member waits for has an owner, or is without one for at most max_seconds"
-- severity = "error"
-- needs = []
-- about = "member that waits for a partition"
-- rows_of = "rebalance_lag"
-- [limits.max_seconds]
-- default = 60
-- unit = "seconds"
-- reason = "A member takes a free partition with its next heartbeat: after 5 s, or at most 15 s with the brokers' defaults."

-- If no owner was ever seen and no record is missing, the partition has been free since the assignment at least. If it
-- was free before, some member has wanted it at most since the bump that the assignment answers.
WITH waiting AS (
    SELECT
        rebalance_lag.*, rebalance_lag.status = 'unknown' AS is_unknown,
        CASE WHEN rebalance_lag.history <> 'censored' AND groups.has_log_start THEN rebalance_lag.target_at END
            AS unseen_since,
        coalesce(rebalance_lag.first_bumped_at, rebalance_lag.target_at) AS wanted_since
    FROM rebalance_lag
    LEFT JOIN groups ON groups.partition = rebalance_lag.partition AND groups.group_id = rebalance_lag.group_id
    WHERE status IN ('open', 'unknown') AND NOT superseded AND (awaited IS NOT NULL OR status = 'unknown')
), free AS (
    SELECT
        partition, group_id, incarnation, group_epoch, member_id, each.partition AS number,
        awaited_place(each) AS topic,
        coalesce(
            CASE WHEN each.released_at IS NOT NULL THEN greatest(each.released_at, wanted_since) END, unseen_since
        ) AS since
    FROM (
        SELECT
            partition, group_id, incarnation, group_epoch, member_id, unseen_since, wanted_since,
            explode(awaited) AS each
        FROM waiting
    ) AS exploded
    WHERE each.owner IS NULL
), first_free AS (
    SELECT
        free.*,
        count(*) OVER (PARTITION BY partition, group_id, incarnation, group_epoch, member_id) AS free,
        count(since) OVER (PARTITION BY partition, group_id, incarnation, group_epoch, member_id) AS known,
        row_number() OVER (
            PARTITION BY partition, group_id, incarnation, group_epoch, member_id
            ORDER BY CASE WHEN since IS NULL THEN 1 ELSE 0 END, since, topic, number
        ) AS nth
    FROM free
), members AS (
    SELECT
        waiting.*, limits.max_seconds, limits.max_seconds_text, first_free.topic, first_free.number,
        coalesce(first_free.free, 0) AS free,
        coalesce(first_free.known, 0) AS known,
        CASE WHEN waiting.awaited IS NULL THEN NULL WHEN first_free.free IS NULL THEN 0
            ELSE lasted_ms(first_free.since, captures.captured_at)
        END AS free_for
    FROM waiting
    JOIN limits ON limits.group_id = waiting.group_id
    LEFT JOIN captures ON captures.partition = waiting.partition
    LEFT JOIN first_free
        ON first_free.partition = waiting.partition AND first_free.group_id = waiting.group_id
        AND first_free.incarnation = waiting.incarnation AND first_free.group_epoch = waiting.group_epoch
        AND first_free.member_id = waiting.member_id AND first_free.nth = 1
)
SELECT
    verdict(
        free_for > max_seconds * 1000, NOT is_unknown AND (free_for > max_seconds * 1000 OR known = free)
    ) AS verdict,
    group_id, group_epoch, member_id, partition, CAST(NULL AS bigint) AS offset,
    CASE WHEN is_unknown THEN 'the log does not show what the member waits for'
        WHEN known = 0
        THEN concat('the log does not show since when ', counted(free, partition), ' it waits for are free')
        ELSE concat(
            'expected an owner within ', max_seconds_text, ', ', text(topic), ' ', text(number),
            ' has had none for ', span(free_for), ': ', counted(free, partition), ' it waits for are free'
        )
    END AS message
FROM members
