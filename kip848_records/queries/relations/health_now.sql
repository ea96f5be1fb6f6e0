-- The health of every group at capture, one row each: the first that applies of stuck, failing (it has a row in
-- troubles_now), unknown, away, empty, healthy. All reports count groups by it. No health says that a group is idle: a
-- committed offset that stands still does not show whether there are messages.
SELECT
    stuck.partition, stuck.group_id, stuck.incarnation,
    CASE WHEN stuck.is_stuck THEN 'stuck' WHEN failing.pattern IS NOT NULL THEN 'failing' ELSE stuck.health END AS health
FROM stuck_now AS stuck
LEFT JOIN (SELECT * FROM troubles_now WHERE nth = 1) AS failing
    ON failing.partition = stuck.partition AND failing.group_id = stuck.group_id
