-- Every transaction with offset commits that is open at capture. status: open; unknown, if its marker may be among records
-- that were lost; unnamed: a partition of a live topic that was not read to its end. Then a transaction is open at
-- first_offset, the last stable offset, at least since first_at, when a run first found it there, and nothing else is
-- known of it. group_id: the only group whose offsets it commits. waiting: partitions whose committed offset no consumer
-- gets before it ends.
SELECT
    offsets_partition AS partition, producer_id, producer_epoch, status,
    CASE WHEN size(group_ids) = 1 THEN get(group_ids, 0) END AS group_id, group_ids, keys, size(keys) AS waiting, records,
    first_offset, first_at, last_at, CASE WHEN age_ms >= 0 THEN age_ms END AS age_ms, blocks_from, records_behind
FROM open_transaction
UNION ALL
SELECT
    last.partition, NULL, NULL, 'unnamed', NULL, NULL, NULL, NULL, NULL, last.until_offset, min(reads.captured_at), NULL,
    lasted_ms(min(reads.captured_at), max(last.captured_at)), last.until_offset, NULL
FROM (
    SELECT read.partition AS partition, read.until_offset AS until_offset, captured_at
    FROM (
        SELECT captured_at, explode(partitions) AS read
        FROM audit_runs
        WHERE run = (SELECT max(run) FROM audit_runs) AND offset_commits
    ) AS exploded
    WHERE NOT read.is_read_to_end
) AS last
JOIN (
    SELECT read.partition AS partition, read.until_offset AS until_offset, captured_at
    FROM (SELECT captured_at, explode(partitions) AS read FROM audit_runs WHERE offset_commits) AS exploded
    WHERE NOT read.is_read_to_end
) AS reads ON reads.partition = last.partition AND reads.until_offset = last.until_offset
GROUP BY last.partition, last.until_offset
