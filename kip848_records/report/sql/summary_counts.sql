SELECT count(*) AS groups,
    count_if(NOT away AND (state IN (:assigning, :reconciling, 'NotReady') OR is_hidden)) AS stuck,
    count_if(away) AS away,
    count_if(state = :unknown) AS unknown
FROM (
    SELECT states.state, coalesce(states.waits_for_away_only, false) AS away, hidden.group_id IS NOT NULL AS is_hidden
    FROM group_state AS states
    LEFT JOIN (
        SELECT DISTINCT partition, group_id, incarnation
        FROM rebalance
        WHERE outcome = 'open' AND group_type IN ('classic', 'share')
    ) AS hidden
        ON hidden.partition = states.partition AND hidden.group_id = states.group_id
        AND hidden.incarnation = states.incarnation
) AS groups
