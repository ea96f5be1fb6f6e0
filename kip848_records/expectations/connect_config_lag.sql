-- name = "connect_config_lag"
-- sentence = "A Connect worker is not behind the leader's configuration in two generations in a row"
-- severity = "warn"

-- The generation before is the generation minus its rounds; rounds is null if the log does not have that record.
SELECT
    verdict(is_behind AND was_behind, is_behind IS NOT NULL AND (NOT is_behind OR rounds IS NOT NULL)) AS verdict,
    CAST(NULL AS string) AS severity,
    group_id, generation AS group_epoch, member_id, partition, CAST(NULL AS bigint) AS offset,
    concat(
        'expected worker ', text(worker_url), ' to have read the configuration to offset ', text(config_offset),
        ', it joined with ', text(worker_config_offset)
    ) AS message
FROM (
    SELECT
        workers.partition, workers.group_id, workers.generation, workers.member_id, workers.worker_url,
        workers.config_offset, workers.worker_config_offset, generations.rounds,
        workers.worker_config_offset < workers.config_offset AS is_behind,
        coalesce(earlier.worker_config_offset < earlier.config_offset, false) AS was_behind
    FROM connect_assignment AS workers
    LEFT JOIN classic_generation AS generations
        ON generations.partition = workers.partition AND generations.group_id = workers.group_id
        AND generations.incarnation = workers.incarnation AND generations.generation = workers.generation
    LEFT JOIN connect_assignment AS earlier
        ON earlier.partition = workers.partition AND earlier.group_id = workers.group_id
        AND earlier.incarnation = workers.incarnation AND earlier.member_id = workers.member_id
        AND earlier.generation = CAST(workers.generation AS bigint) - generations.rounds
) AS pairs
