-- One row for each group that is stuck now, or was at the run before; its columns are null in the one row that is there
-- if there is no such group. limited_by, limited_since: as in stuck_now. Offsets say what the run before had read,
-- because the clock of its machine may differ from those of the brokers. Offsets begin again in a topic that was made
-- anew, so that what is later than the capture of the run before is new, too.
WITH states AS (
    SELECT
        timeline.*, limited_by(state) AS limited_by,
        earlier.captured_at IS NOT NULL AND coalesce(from_offset < until_offset, true)
            AND coalesce(from_at <= earlier.captured_at, true) AS had_begun,
        (to_at IS NOT NULL OR to_offset IS NOT NULL) AND coalesce(to_offset < until_offset, true)
            AND coalesce(to_at <= earlier.captured_at, true) AS had_ended
    FROM group_state_timeline AS timeline
    JOIN known_before AS earlier ON earlier.partition = timeline.partition
),
before AS (
    SELECT group_id, partition, max_by(incarnation, from_offset) AS incarnation, max_by(state, from_offset) AS state,
        max_by(from_at, from_offset) AS from_at
    FROM states
    WHERE had_begun AND NOT had_ended
    GROUP BY group_id, partition
),
other_state AS (
    SELECT group_id, partition, incarnation, max(from_offset) AS from_offset
    FROM states
    WHERE had_begun AND limited_by IS DISTINCT FROM 'group_stable'
    GROUP BY group_id, partition, incarnation
),
rebalancing AS (
    -- Assigning and Reconciling count as one state, as in group_state.since.
    SELECT states.group_id, states.partition, states.incarnation, min(states.from_at) AS since
    FROM states
    LEFT JOIN other_state
        ON other_state.group_id = states.group_id AND other_state.partition = states.partition
        AND other_state.incarnation = states.incarnation
    WHERE had_begun AND states.limited_by = 'group_stable'
        AND (other_state.from_offset IS NULL OR states.from_offset > other_state.from_offset)
    GROUP BY states.group_id, states.partition, states.incarnation
),
hidden_before AS (
    -- The states of classic and share groups do not show a rebalance.
    SELECT rebalance.group_id, rebalance.partition, min(began_at) AS since, bool_and(outcome <> 'open') AS has_ended
    FROM rebalance
    JOIN known_before AS earlier ON earlier.partition = rebalance.partition
    WHERE outcome IS NOT NULL AND earlier.captured_at IS NOT NULL
        AND coalesce(began_offset < until_offset, true) AND began_at <= earlier.captured_at
        AND (outcome = 'open' OR NOT (coalesce(ended_offset < until_offset, true) AND ended_at <= earlier.captured_at))
    GROUP BY rebalance.group_id, rebalance.partition
),
released AS (
    SELECT DISTINCT group_id, partition
    FROM states
    WHERE NOT had_begun AND limited_by IS NULL AND state <> 'unknown'
),
born AS (
    SELECT group_id, partition, NOT bool_or(had_begun) AS is_new, min_by(history, from_offset) AS history
    FROM states
    GROUP BY group_id, partition
),
compared AS (
    SELECT now.group_id, earlier.captured_at AS earlier_at, now.limited_by, now.limited_since, now.limited_ms,
        now.is_hidden OR before.state <> 'unknown' OR (born.is_new AND born.history IN ('observed', 'right_censored'))
            AS is_known_before,
        coalesce(limited_by(before.state), CASE WHEN hidden.group_id IS NOT NULL THEN 'group_stable' END)
            AS limited_by_before,
        CASE limited_by(before.state) WHEN 'streams_ready' THEN before.from_at WHEN 'group_stable' THEN rebalancing.since
            ELSE hidden.since
        END AS limited_since_before,
        now.is_stable OR released.group_id IS NOT NULL OR coalesce(hidden.has_ended, false) AS is_released
    FROM (
        SELECT states.group_id, states.partition, stuck.is_hidden, stuck.limited_by, stuck.limited_since,
            stuck.limited_ms,
            NOT stuck.is_hidden AND NOT is_rebalancing(states.state) AND states.state <> 'unknown' AS is_stable
        FROM group_state AS states
        JOIN stuck_now AS stuck ON stuck.partition = states.partition AND stuck.group_id = states.group_id
    ) AS now
    LEFT JOIN known_before AS earlier ON earlier.partition = now.partition
    LEFT JOIN before ON before.group_id = now.group_id AND before.partition = now.partition
    LEFT JOIN rebalancing
        ON rebalancing.group_id = before.group_id AND rebalancing.partition = before.partition
        AND rebalancing.incarnation = before.incarnation
    LEFT JOIN hidden_before AS hidden ON hidden.group_id = now.group_id AND hidden.partition = now.partition
    LEFT JOIN released ON released.group_id = now.group_id AND released.partition = now.partition
    LEFT JOIN born ON born.group_id = now.group_id AND born.partition = now.partition
)
SELECT run_before.captured_at IS NULL AS is_first, found.group_id, unix_millis(found.earlier_at) AS earlier_ms,
    found.limited_by, found.limited_ms, coalesce(found.is_known_before, false) AS is_known_before,
    found.limited_by_before, ms_between(found.limited_since_before, found.earlier_at) AS limited_before_ms, found.is_released
FROM run_before
LEFT JOIN (
    SELECT * FROM compared WHERE limited_by IS NOT NULL OR limited_by_before IS NOT NULL
) AS found ON true
ORDER BY found.limited_since, found.group_id, found.limited_since_before
