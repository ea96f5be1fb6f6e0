-- One row for each group that is stuck now, or was at the run before; its columns are null in the one row that is there
-- if there is no such group. expectation: the one that limits for how long a group may be in its state.
WITH run_before AS (
    SELECT max(captured_at) AS captured_at, max_by(run, (captured_at, run)) AS run
    FROM audit_runs
    WHERE run < :run AND captured_at <= :captured
),
read_before AS (
    SELECT read.partition AS partition, read.captured_at AS captured_at
    FROM (
        SELECT explode(partitions) AS read FROM audit_runs WHERE run = (SELECT run FROM run_before)
    ) AS reads
),
earlier AS (
    -- Each partition, and up to when the run before knew it; null if there was none.
    SELECT every.partition, coalesce(read_before.captured_at, run_before.captured_at) AS captured_at
    FROM (SELECT DISTINCT partition FROM group_state_timeline) AS every
    CROSS JOIN run_before
    LEFT JOIN read_before ON read_before.partition = every.partition
),
states AS (
    SELECT timeline.*, earlier.captured_at AS earlier_at
    FROM group_state_timeline AS timeline
    JOIN earlier ON earlier.partition = timeline.partition
),
before AS (
    SELECT group_id, partition, max_by(state, from_offset) AS state, max_by(from_at, from_offset) AS from_at
    FROM states
    WHERE from_at <= earlier_at AND (to_at IS NULL OR to_at > earlier_at)
    GROUP BY group_id, partition
),
other_state AS (
    SELECT group_id, partition, max(from_offset) AS from_offset
    FROM states
    WHERE from_at <= earlier_at AND state NOT IN (:assigning, :reconciling)
    GROUP BY group_id, partition
),
rebalancing AS (
    -- Assigning and Reconciling count as one state, as in group_state.since.
    SELECT states.group_id, states.partition, min(states.from_at) AS since
    FROM states
    LEFT JOIN other_state ON other_state.group_id = states.group_id AND other_state.partition = states.partition
    WHERE states.from_at <= states.earlier_at AND states.state IN (:assigning, :reconciling)
        AND (other_state.from_offset IS NULL OR states.from_offset > other_state.from_offset)
    GROUP BY states.group_id, states.partition
),
hidden_before AS (
    -- As in stuck_now: the states of these groups do not show an ongoing rebalance.
    SELECT rebalance.group_id, rebalance.partition, min(began_at) AS since
    FROM rebalance
    JOIN earlier ON earlier.partition = rebalance.partition
    WHERE group_type IN ('classic', 'share') AND began_at <= earlier.captured_at AND ended_at > earlier.captured_at
    GROUP BY rebalance.group_id, rebalance.partition
),
released AS (
    SELECT DISTINCT group_id, partition
    FROM states
    WHERE from_at > earlier_at AND state NOT IN (:assigning, :reconciling, 'NotReady', :unknown)
),
born AS (
    SELECT group_id, partition, min(from_at) AS from_at, min_by(history, from_offset) AS history
    FROM group_state_timeline
    GROUP BY group_id, partition
),
compared AS (
    SELECT now.group_id, earlier.captured_at AS earlier_at, now.captured_at,
        CASE WHEN NOT now.is_stuck THEN NULL WHEN now.is_ready THEN 'group_stable' ELSE 'streams_ready' END AS expectation,
        CASE WHEN now.is_stuck THEN now.since END AS since,
        CASE WHEN now.is_hidden THEN now.since IS NOT NULL
            ELSE before.state <> :unknown
                OR (born.from_at > earlier.captured_at AND born.history IN ('observed', 'right_censored'))
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
        SELECT states.group_id, states.partition, states.captured_at, stuck.is_stuck, stuck.is_hidden,
            stuck.is_hidden OR states.state <> 'NotReady' AS is_ready,
            CASE WHEN stuck.is_hidden THEN stuck.hidden_since ELSE states.since END AS since,
            NOT stuck.is_hidden AND states.state NOT IN (:assigning, :reconciling, 'NotReady', :unknown) AS is_stable
        FROM group_state AS states
        JOIN stuck_now AS stuck ON stuck.partition = states.partition AND stuck.group_id = states.group_id
    ) AS now
    LEFT JOIN earlier ON earlier.partition = now.partition
    LEFT JOIN before ON before.group_id = now.group_id AND before.partition = now.partition
    LEFT JOIN rebalancing ON rebalancing.group_id = now.group_id AND rebalancing.partition = now.partition
    LEFT JOIN hidden_before AS hidden ON hidden.group_id = now.group_id AND hidden.partition = now.partition
    LEFT JOIN released ON released.group_id = now.group_id AND released.partition = now.partition
    LEFT JOIN born ON born.group_id = now.group_id AND born.partition = now.partition
)
SELECT run_before.captured_at IS NULL AS is_first, found.group_id, unix_millis(found.earlier_at) AS earlier_ms,
    unix_millis(found.captured_at) AS captured_ms,
    found.expectation, unix_millis(found.since) AS since_ms, coalesce(found.is_known_before, false) AS is_known_before,
    found.expectation_before, unix_millis(found.since_before) AS since_before_ms, found.is_released
FROM run_before
LEFT JOIN (
    SELECT * FROM compared WHERE expectation IS NOT NULL OR expectation_before IS NOT NULL
) AS found ON true
ORDER BY since_ms, found.group_id, found.since_before
