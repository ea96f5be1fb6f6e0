-- question = "What did the last run read, and is the history of each partition complete?"
-- needs = []
-- about = "run"
-- among = "audit_runs"
-- empty = "There is no run"
SELECT r.run, r.captured_at, r.version, r.dialect, p.partition, p.copy, p.complete_from, p.last_offset
FROM audit_runs r LEFT JOIN partition_history p ON p.cluster = r.cluster
WHERE r.run = (SELECT max(run) FROM audit_runs)
ORDER BY p.partition, p.copy
