-- What has been wrong with the group over time.
SELECT found.partition, found.group_id, pattern, severity, count, at_least, unix_millis(first_seen) AS first_ms,
  unix_millis(last_seen) AS last_ms, unix_millis(ended_at) AS ended_ms, is_present, cost_share, sentence, next_step,
  CASE WHEN is_present THEN ms_between(first_seen, captures.captured_at) END AS lasts_ms, explained_by,
  subject.client_id AS client_id, subject.client_host AS client_host, subject.instance_id AS instance_id,
  subject.member_id AS member_id, subject.what AS what, subject.regex AS regex, array_join(subject.topics, ' ') AS topics, get(evidence, 0) AS at_offset, episode
FROM diagnosis AS found
JOIN chosen ON found.partition = chosen.partition AND found.group_id = chosen.group_id
LEFT JOIN captures ON captures.partition = found.partition
