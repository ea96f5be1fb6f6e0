-- Every group at capture. is_stuck: it rebalances, and does not only wait for absent static members; since stuck_since, when
-- the rebalance began, or before if stuck_history is censored. is_hidden: the states of its kind do not show that it
-- rebalances. limited_by: the expectation that limits for how long a stuck group may be in its state, and limited_since:
-- since when it has been in this state. A group beyond this limit is overdue. stuck_ms, limited_ms: from these times to the
-- capture, in ms; negative if a clock went back. health: stuck, away, unknown, empty (no
-- member), or healthy.

-- rebalancing_since and rebalancing_history are made by _rebalancing of replay/incarnations/group_state.py. It takes them
-- from the ongoing row of `rebalance` (modern/timelines/open_rebalance.py, generations/rebalances.py), and without one from
-- the state (replay/group/states.py), which also makes since.
SELECT
    partition, group_id, incarnation, is_away, is_hidden, is_stuck,
    CASE WHEN is_stuck THEN rebalancing_since END AS stuck_since,
    CASE WHEN is_stuck THEN rebalancing_history END AS stuck_history,
    CASE WHEN is_stuck THEN coalesce(limited_by(state), 'group_stable') END AS limited_by,
    CASE WHEN is_stuck AND is_hidden THEN rebalancing_since WHEN is_stuck THEN since END AS limited_since,
    CASE WHEN is_stuck THEN ms_between(rebalancing_since, captured_at) END AS stuck_ms,
    CASE WHEN is_stuck THEN ms_between(CASE WHEN is_hidden THEN rebalancing_since ELSE since END, captured_at) END
        AS limited_ms,
    CASE
        WHEN state = 'unknown' THEN 'unknown' WHEN is_away THEN 'away' WHEN is_stuck THEN 'stuck' WHEN state = 'Empty'
            THEN 'empty'
        ELSE 'healthy'
    END AS health
FROM (
    SELECT
        partition, group_id, incarnation, state, since, captured_at, rebalancing_since, rebalancing_history,
        coalesce(waits_for_away_only, false) AS is_away,
        rebalancing_history IS NOT NULL AND NOT is_rebalancing(state) AS is_hidden,
        rebalancing_history IS NOT NULL AND NOT coalesce(waits_for_away_only, false) AS is_stuck
    FROM group_state
) AS states
