-- What happened: which rebalances finished, and which troubles began or ended, in the order of time?
-- For log shippers: one object a line with --json. A trouble is a row of diagnosis; its `at` is when it could be known.
WITH happened AS (
  SELECT
    ended_at AS at, 'rebalance_finished' AS event, group_id, incarnation, partition, ended_offset AS nth, outcome,
    began_at, ended_at, duration_ms, duration_is_minimum, array_join(causes, ', ') AS causes, members, unowned_ms,
    get(blockers, 0).client_id AS worst_blocker, CAST(NULL AS string) AS pattern,
    CAST(NULL AS string) AS probable_cause, CAST(NULL AS string) AS severity, CAST(NULL AS string) AS explained_by,
    CAST(NULL AS string) AS subject, CAST(NULL AS string) AS client_host, CAST(NULL AS string) AS sentence
  FROM rebalance WHERE outcome NOT IN ('open', 'unknown') AND ended_at IS NOT NULL
  UNION ALL
  SELECT
    troubles.at, event, group_id, incarnation, partition, episode, NULL, first_seen, ended_at, NULL, NULL, NULL, NULL,
    NULL, NULL, pattern, probable_cause, severity, explained_by,
    coalesce(subject.instance_id, subject.client_id, subject.member_id, subject.what, subject.regex),
    subject.client_host, sentence
  FROM (
    SELECT *, recognized_at AS at, 'trouble_began' AS event FROM diagnosis
    UNION ALL
    SELECT *, ended_at AS at, 'trouble_ended' AS event FROM diagnosis WHERE NOT is_present
  ) AS troubles
)
SELECT
  event, happened.at, group_id, incarnation, partition, outcome, began_at, ended_at, duration_ms, duration_is_minimum,
  causes, members, unowned_ms, worst_blocker, pattern, probable_cause, severity, explained_by, subject, client_host,
  sentence
FROM happened
ORDER BY happened.at, event, group_id, incarnation, partition, nth, pattern, subject, client_host, began_at
