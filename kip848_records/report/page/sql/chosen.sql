-- The groups whose timelines the page has: the worst ones, as many as there is room for.
SELECT partition, group_id
FROM (
  SELECT *, sum(intervals) OVER (ORDER BY nth ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS intervals_before
  FROM (
    SELECT *, row_number() OVER (ORDER BY rank, harm DESC, since, group_id, partition) AS nth FROM ranked
  ) AS numbered
) AS counted
WHERE nth <= :groups AND (nth = 1 OR intervals_before < :intervals)
