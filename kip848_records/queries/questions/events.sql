-- question = "What happened: which rebalances finished, and which troubles began or ended, in the order of time?"
-- note = "For log shippers: one object a line with --json. A trouble is a row of diagnosis; its `at` is when it could be known."
-- needs = []
-- about = "group"
-- among = "groups"
-- empty = "No rebalance finished, and no trouble began or ended"
-- [without]
-- offset_commits = "troubles of consumption are not looked for"
SELECT
  event, happened.at, group_id, incarnation, partition, outcome, began_at, ended_at, duration_ms, duration_is_minimum,
  causes, members, unowned_ms, worst_blocker, pattern, probable_cause, severity, explained_by, subject, client_host,
  sentence
FROM happened
ORDER BY happened.at, event, group_id, incarnation, partition, nth, pattern, subject, client_host, began_at
