SELECT count(*) AS groups,
    count_if(NOT waits_for_away_only AND state IN (:assigning, :reconciling)) AS stuck,
    count_if(waits_for_away_only) AS away,
    count_if(state = :unknown) AS unknown
FROM (SELECT state, coalesce(waits_for_away_only, false) AS waits_for_away_only FROM group_state) AS groups
