-- Each partition with a group: up to when the run before the last one knew it, and the offset behind the last one that it
-- had read. Nulls: there is no such run, or this is not known.
SELECT every.partition, coalesce(reads.captured_at, run_before.captured_at) AS captured_at, ends.until_offset
FROM (SELECT DISTINCT partition FROM group_state_timeline) AS every
CROSS JOIN run_before
LEFT JOIN (
    SELECT read.partition AS partition, read.captured_at AS captured_at
    FROM (
        SELECT explode(partitions) AS read FROM audit_runs WHERE run = (SELECT run FROM run_before)
    ) AS exploded
) AS reads ON reads.partition = every.partition
LEFT JOIN (
    SELECT entry.key AS partition, entry.value AS until_offset
    FROM (
        SELECT explode(map_entries(counted_until)) AS entry FROM audit_runs WHERE run = (SELECT run FROM run_before)
    ) AS exploded
) AS ends ON ends.partition = every.partition
