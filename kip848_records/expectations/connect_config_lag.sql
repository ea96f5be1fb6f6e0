-- name = "connect_config_lag"
-- sentence = "A Connect worker is not behind the leader's configuration in two generations in a row"
-- severity = "warn"
-- needs = []
-- about = "worker of a Connect cluster"
-- rows_of = "connect_assignment"

-- One row for each worker. The generation before is the generation minus its rounds; rounds is null if the log does not
-- have that record.
SELECT
    verdict(lags > 0, unknown = 0) AS verdict,
    group_id, last_generation AS group_epoch, member_id, partition, CAST(NULL AS bigint) AS offset,
    concat(
        'expected worker ', text(worker), ' to have read the configuration to offset ', text(config_offset),
        ', it joined with ', text(worker_config_offset), ' (generations: ', text(lags), ', the last one ',
        text(last_generation), ')'
    ) AS message
FROM (
    SELECT
        partition, group_id, incarnation, member_id, max(worker) AS worker,
        count(CASE WHEN is_behind AND was_behind THEN 1 END) AS lags,
        count(CASE WHEN is_behind IS NULL OR (is_behind AND rounds IS NULL) THEN 1 END) AS unknown,
        max(CASE WHEN is_behind AND was_behind THEN generation END) AS last_generation,
        max(CASE WHEN is_behind AND was_behind THEN config_offset END) AS config_offset,
        max(CASE WHEN is_behind AND was_behind THEN worker_config_offset END) AS worker_config_offset
    FROM (
        SELECT
            workers.partition, workers.group_id, workers.incarnation, workers.generation, workers.member_id, names.worker,
            workers.config_offset, workers.worker_config_offset, generations.rounds,
            workers.worker_config_offset < workers.config_offset AS is_behind,
            coalesce(earlier.worker_config_offset < earlier.config_offset, false) AS was_behind
        FROM connect_assignment AS workers
        LEFT JOIN worker_urls AS names
            ON names.partition = workers.partition AND names.group_id = workers.group_id
            AND names.incarnation = workers.incarnation AND names.member_id = workers.member_id
        LEFT JOIN classic_generation AS generations
            ON generations.partition = workers.partition AND generations.group_id = workers.group_id
            AND generations.incarnation = workers.incarnation AND generations.generation = workers.generation
        LEFT JOIN connect_assignment AS earlier
            ON earlier.partition = workers.partition AND earlier.group_id = workers.group_id
            AND earlier.incarnation = workers.incarnation AND earlier.member_id = workers.member_id
            AND earlier.generation = CAST(workers.generation AS bigint) - generations.rounds
    ) AS pairs
    GROUP BY partition, group_id, incarnation, member_id
) AS each_worker
