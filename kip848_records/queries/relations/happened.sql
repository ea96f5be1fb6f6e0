-- What happened: rebalances that finished, and troubles that began or ended. at: when it could be known. nth: the offset of
-- a rebalance's last record, or the number of the trouble's episode.
SELECT
  ended_at AS at, 'rebalance_finished' AS event, rebalance.group_id, rebalance.incarnation, rebalance.partition,
  ended_offset AS nth, outcome,
  began_at, ended_at, CASE WHEN duration_ms >= 0 THEN duration_ms END AS duration_ms, duration_is_minimum,
  array_join(causes, ', ') AS causes, members, CASE WHEN unowned_ms >= 0 THEN unowned_ms END AS unowned_ms,
  coalesce(get(blockers, 0).client_id, gone.worker) AS worst_blocker, CAST(NULL AS string) AS pattern,
  CAST(NULL AS string) AS probable_cause, CAST(NULL AS string) AS severity, CAST(NULL AS string) AS explained_by,
  CAST(NULL AS string) AS subject, CAST(NULL AS string) AS client_host, CAST(NULL AS string) AS sentence
FROM rebalance
LEFT JOIN workers_left AS gone
  ON gone.group_id = rebalance.group_id AND gone.partition = rebalance.partition
  AND gone.incarnation = rebalance.incarnation AND gone.began_offset = rebalance.began_offset AND gone.nth = 1
WHERE outcome NOT IN ('open', 'unknown') AND ended_at IS NOT NULL
UNION ALL
SELECT
  troubles.at, event, group_id, incarnation, partition, episode, NULL, first_seen, ended_at, NULL, NULL, NULL, NULL,
  NULL, NULL, pattern, probable_cause, severity, explained_by,
  subject_name(subject), subject.client_host, sentence
FROM (
  SELECT *, recognized_at AS at, 'trouble_began' AS event FROM diagnosis
  UNION ALL
  SELECT *, ended_at AS at, 'trouble_ended' AS event FROM diagnosis WHERE NOT is_present
) AS troubles
