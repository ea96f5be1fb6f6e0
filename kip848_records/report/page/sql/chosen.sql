-- The groups whose timelines the page has: as `groups.sql` orders them, as many as there is room for.
WITH ranked AS (
  SELECT every.partition, every.group_id, row_number() OVER (ORDER BY coalesce(is_stuck, 0) DESC, stuck_since,
    slowest_ms DESC, every.group_id, every.partition) AS nth, coalesce(intervals, 0) AS intervals
  FROM (SELECT DISTINCT partition, group_id FROM group_state_timeline) AS every
  LEFT JOIN (
    SELECT partition, group_id, max(duration_ms) AS slowest_ms
    FROM rebalance WHERE is_measured GROUP BY partition, group_id
  ) AS measured ON every.partition = measured.partition AND every.group_id = measured.group_id
  LEFT JOIN (
    SELECT partition, group_id, max(CASE WHEN is_stuck THEN 1 ELSE 0 END) AS is_stuck, min(stuck_since) AS stuck_since
    FROM stuck_now AS stuck GROUP BY partition, group_id
  ) AS states ON every.partition = states.partition AND every.group_id = states.group_id
  LEFT JOIN (SELECT partition, group_id, count(*) AS intervals FROM member_state_timeline GROUP BY partition, group_id)
    AS intervals ON every.partition = intervals.partition AND every.group_id = intervals.group_id
)
SELECT partition, group_id
FROM (
  SELECT *, sum(intervals) OVER (ORDER BY nth ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS intervals_before
  FROM ranked
) AS counted
WHERE nth <= :groups AND (nth = 1 OR intervals_before < :intervals)
