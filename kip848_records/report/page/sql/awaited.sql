-- The partitions that members wait for, by the member that holds them. The owner is empty if no member holds them.
SELECT partition, group_id, incarnation, owner, topic, array_join(array_sort(collect_list(number)), ' ') AS numbers
FROM (
  SELECT DISTINCT partition, group_id, incarnation, coalesce(awaited.owner, '') AS owner, awaited.partition AS number,
    awaited_place(awaited) AS topic
  FROM (
    SELECT partition, group_id, incarnation, explode(awaited) AS awaited FROM rebalance_lag
    WHERE status = 'open' AND NOT superseded
  ) AS lags
) AS each
GROUP BY partition, group_id, incarnation, owner, topic
ORDER BY partition, group_id, incarnation, owner, topic
