-- name = "connect_task_running"
-- sentence = "A connector or task is not without a worker for longer than max_seconds"
-- severity = "error"
-- needs = []
-- about = "connector or task that lost its worker"
-- rows_of = "task_handover"
-- [limits.max_seconds]
-- default = 600
-- unit = "seconds"
-- reason = "Connect waits 5 minutes for a lost worker by default (scheduled.rebalance.max.delay.ms), and then assigns its tasks."

-- The time until the delay ends is counted: the leader assigns the task at that time, not before.
SELECT
    verdict(
        coalesce(lasted > max_seconds * 1000, false),
        coalesce(lasted > max_seconds * 1000, false) AND history <> 'censored' AND history <> 'left_censored'
        OR (
            history IN ('observed', 'right_censored')
            AND coalesce(unowned_max_ms, CASE WHEN status = 'open' THEN lasted ELSE unowned_ms END) <= max_seconds * 1000
        )
    ) AS verdict,
    group_id, epoch AS group_epoch, from_member AS member_id, partition, CAST(NULL AS bigint) AS offset,
    lasted AS lasts_ms,
    concat(
        'expected ', text(connector), CASE WHEN task = -1 THEN '' ELSE concat(' task ', text(task)) END,
        ' to run again within ', max_seconds_text, ', ',
        CASE WHEN status = 'open' THEN 'has had' ELSE 'had' END, ' no worker for ', at_least(lasted), ' (',
        text(reason), ')'
    ) AS message
FROM (
    SELECT
        units.*, max_seconds, max_seconds_text,
        CASE WHEN status = 'open' AND expected_at > captures.captured_at
            THEN ms_between(released_at, expected_at)
            WHEN status = 'open' THEN lasted_ms(released_at, captures.captured_at)
            ELSE unowned_ms
        END AS lasted
    FROM task_handover AS units
    JOIN limits ON limits.group_id = units.group_id
    LEFT JOIN captures ON captures.partition = units.partition
    WHERE connector IS NOT NULL AND status <> 'removed'
) AS timed
