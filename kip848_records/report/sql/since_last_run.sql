-- One row for each group that is stuck now, or was at the run before; its columns are null in the one row that is there
-- if there is no such group. expectation: the one that limits for how long a group may be in its state.
WITH earlier AS (
    SELECT max(captured_at) AS captured_at
    FROM audit_runs
    WHERE run < :run AND captured_at <= :captured
),
before AS (
    SELECT group_id, partition, max_by(state, from_offset) AS state, max_by(from_at, from_offset) AS from_at
    FROM group_state_timeline
    WHERE from_at <= (SELECT captured_at FROM earlier)
        AND (to_at IS NULL OR to_at > (SELECT captured_at FROM earlier))
    GROUP BY group_id, partition
),
other_state AS (
    SELECT group_id, partition, max(from_offset) AS from_offset
    FROM group_state_timeline
    WHERE from_at <= (SELECT captured_at FROM earlier) AND state NOT IN (:assigning, :reconciling)
    GROUP BY group_id, partition
),
rebalancing AS (
    -- Assigning and Reconciling count as one state, as in group_state.since.
    SELECT states.group_id, states.partition, min(states.from_at) AS since
    FROM group_state_timeline AS states
    LEFT JOIN other_state ON other_state.group_id = states.group_id AND other_state.partition = states.partition
    WHERE states.from_at <= (SELECT captured_at FROM earlier) AND states.state IN (:assigning, :reconciling)
        AND (other_state.from_offset IS NULL OR states.from_offset > other_state.from_offset)
    GROUP BY states.group_id, states.partition
),
hidden_before AS (
    -- As in stuck_now: the states of these groups do not show an ongoing rebalance.
    SELECT group_id, partition, min(began_at) AS since
    FROM rebalance
    WHERE group_type IN ('classic', 'share')
        AND began_at <= (SELECT captured_at FROM earlier) AND ended_at > (SELECT captured_at FROM earlier)
    GROUP BY group_id, partition
),
released AS (
    SELECT DISTINCT group_id, partition
    FROM group_state_timeline
    WHERE from_at > (SELECT captured_at FROM earlier)
        AND state NOT IN (:assigning, :reconciling, 'NotReady', :unknown)
),
born AS (
    SELECT group_id, partition, min(from_at) AS from_at, min_by(history, from_offset) AS history
    FROM group_state_timeline
    GROUP BY group_id, partition
),
compared AS (
    SELECT now.group_id,
        CASE WHEN NOT now.is_stuck THEN NULL WHEN now.is_ready THEN 'group_stable' ELSE 'streams_ready' END AS expectation,
        CASE WHEN now.is_stuck THEN now.since END AS since,
        CASE WHEN now.is_hidden THEN now.since IS NOT NULL
            ELSE before.state <> :unknown
                OR (born.from_at > (SELECT captured_at FROM earlier) AND born.history IN ('observed', 'right_censored'))
        END AS is_known_before,
        CASE WHEN before.state = 'NotReady' THEN 'streams_ready'
            WHEN before.state IN (:assigning, :reconciling) OR hidden.group_id IS NOT NULL THEN 'group_stable'
        END AS expectation_before,
        CASE WHEN before.state = 'NotReady' THEN before.from_at
            WHEN before.state IN (:assigning, :reconciling) THEN rebalancing.since
            ELSE hidden.since
        END AS since_before,
        now.is_stable OR released.group_id IS NOT NULL OR hidden.group_id IS NOT NULL AS is_released
    FROM (
        SELECT states.group_id, states.partition, stuck.is_stuck, stuck.is_hidden,
            stuck.is_hidden OR states.state <> 'NotReady' AS is_ready,
            CASE WHEN stuck.is_hidden THEN stuck.hidden_since ELSE states.since END AS since,
            NOT stuck.is_hidden AND states.state NOT IN (:assigning, :reconciling, 'NotReady', :unknown) AS is_stable
        FROM group_state AS states
        JOIN ({stuck_now}) AS stuck ON stuck.partition = states.partition AND stuck.group_id = states.group_id
    ) AS now
    LEFT JOIN before ON before.group_id = now.group_id AND before.partition = now.partition
    LEFT JOIN rebalancing ON rebalancing.group_id = now.group_id AND rebalancing.partition = now.partition
    LEFT JOIN hidden_before AS hidden ON hidden.group_id = now.group_id AND hidden.partition = now.partition
    LEFT JOIN released ON released.group_id = now.group_id AND released.partition = now.partition
    LEFT JOIN born ON born.group_id = now.group_id AND born.partition = now.partition
)
SELECT unix_millis(earlier.captured_at) AS earlier_ms, found.group_id,
    found.expectation, unix_millis(found.since) AS since_ms, coalesce(found.is_known_before, false) AS is_known_before,
    found.expectation_before, unix_millis(found.since_before) AS since_before_ms, found.is_released
FROM earlier
LEFT JOIN (
    SELECT * FROM compared WHERE expectation IS NOT NULL OR expectation_before IS NOT NULL
) AS found ON true
ORDER BY since_ms, found.group_id, found.since_before
