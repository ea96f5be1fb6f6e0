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
)
SELECT unix_millis((SELECT captured_at FROM earlier)) AS earlier_ms,
    count_if(
        coalesce(now.is_stuck AND before.state NOT IN (:assigning, :reconciling, 'NotReady', :unknown), false)
        OR coalesce(now.hidden_since > (SELECT captured_at FROM earlier), false)
    ) AS newly_stuck,
    count_if(now.is_stuck AND (before.state IS NULL OR before.state = :unknown)) AS unknown,
    count_if(now.is_stable AND before.state IN (:assigning, :reconciling, 'NotReady')) AS recovered
FROM (
    SELECT states.group_id, states.partition, stuck.is_stuck AND NOT stuck.is_hidden AS is_stuck, stuck.hidden_since,
        states.state NOT IN (:assigning, :reconciling, 'NotReady', :unknown) AS is_stable
    FROM group_state AS states
    JOIN ({stuck_now}) AS stuck ON stuck.partition = states.partition AND stuck.group_id = states.group_id
) AS now
LEFT JOIN before ON before.group_id = now.group_id AND before.partition = now.partition
