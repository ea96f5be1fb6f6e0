-- One row for each group that changed; its columns are null in the one row that is there if none did.
WITH earlier AS (
    SELECT max(captured_at) AS captured_at
    FROM audit_runs
    WHERE run < :run AND captured_at <= :captured
),
before AS (
    SELECT group_id, partition, max_by(state, from_offset) AS state
    FROM group_state_timeline
    WHERE from_at <= (SELECT captured_at FROM earlier)
        AND (to_at IS NULL OR to_at > (SELECT captured_at FROM earlier))
    GROUP BY group_id, partition
),
born AS (
    SELECT group_id, partition, min(from_at) AS from_at, min_by(history, from_offset) AS history
    FROM group_state_timeline
    GROUP BY group_id, partition
),
hidden_before AS (
    -- As in stuck_now: the states of these groups do not show an ongoing rebalance.
    SELECT DISTINCT group_id, partition
    FROM rebalance
    WHERE group_type IN ('classic', 'share')
        AND began_at <= (SELECT captured_at FROM earlier) AND ended_at > (SELECT captured_at FROM earlier)
),
compared AS (
    SELECT now.group_id, now.since,
        CASE
            WHEN (now.is_stuck AND before.state NOT IN (:assigning, :reconciling, 'NotReady', :unknown))
                OR (now.is_stuck AND born.from_at > (SELECT captured_at FROM earlier)
                    AND born.history IN ('observed', 'right_censored'))
                OR now.hidden_since > (SELECT captured_at FROM earlier)
            THEN 'newly_stuck'
            WHEN now.is_stuck AND (before.state IS NULL OR before.state = :unknown) THEN 'unknown'
            WHEN now.is_hidden AND (now.hidden_since IS NULL OR (SELECT captured_at FROM earlier) IS NULL) THEN 'unknown'
            WHEN now.is_stable AND (before.state IN (:assigning, :reconciling, 'NotReady') OR hidden.group_id IS NOT NULL)
            THEN 'recovered'
        END AS change
    FROM (
        SELECT states.group_id, states.partition, stuck.is_stuck AND NOT stuck.is_hidden AS is_stuck, stuck.is_hidden,
            stuck.hidden_since,
            coalesce(stuck.hidden_since, states.since) AS since,
            NOT stuck.is_hidden AND states.state NOT IN (:assigning, :reconciling, 'NotReady', :unknown) AS is_stable
        FROM group_state AS states
        JOIN ({stuck_now}) AS stuck ON stuck.partition = states.partition AND stuck.group_id = states.group_id
    ) AS now
    LEFT JOIN before ON before.group_id = now.group_id AND before.partition = now.partition
    LEFT JOIN born ON born.group_id = now.group_id AND born.partition = now.partition
    LEFT JOIN hidden_before AS hidden ON hidden.group_id = now.group_id AND hidden.partition = now.partition
)
SELECT unix_millis(earlier.captured_at) AS earlier_ms, changed.change, changed.group_id,
    unix_millis(changed.since) AS since_ms
FROM earlier
LEFT JOIN (SELECT change, group_id, since FROM compared WHERE change IS NOT NULL) AS changed ON true
ORDER BY changed.change, since_ms, changed.group_id
