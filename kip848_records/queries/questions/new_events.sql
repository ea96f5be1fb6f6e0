-- question = "What happened since the run before the last one: the same as events, without what that run knew?"
-- note = "Run it after each audit: nothing comes twice. Rebalances are told apart by offsets, troubles by their times. At the first run everything is new. `kip848 query DIR events --since-last-run` asks it."
-- needs = []
-- about = "group"
-- among = "groups"
-- empty = "Nothing happened since the run before"
-- [without]
-- offset_commits = "troubles of consumption are not looked for"
SELECT
  event, happened.at, group_id, incarnation, happened.partition, outcome, began_at, ended_at, duration_ms,
  duration_is_minimum, causes, members, unowned_ms, worst_blocker, pattern, probable_cause, severity, explained_by,
  subject, client_host, sentence
FROM happened
CROSS JOIN run_before
LEFT JOIN known_before ON known_before.partition = happened.partition
WHERE CASE
  WHEN event = 'rebalance_finished' AND until_offset IS NOT NULL THEN coalesce(nth >= until_offset, true)
  ELSE is_new(happened.at)
END
ORDER BY happened.at, event, group_id, incarnation, happened.partition, nth, pattern, subject, client_host, began_at
