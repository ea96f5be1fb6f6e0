-- name = "connect_config_lag"
-- sentence = "A Connect worker is not behind the leader's configuration in two generations in a row"
-- severity = "warn"

SELECT
    verdict(is_behind AND was_behind, is_behind IS NOT NULL AND NOT (is_behind AND was_behind IS NULL AND is_later))
        AS verdict,
    CAST(NULL AS string) AS severity,
    group_id, generation AS group_epoch, member_id, partition, CAST(NULL AS bigint) AS offset,
    concat(
        'expected worker ', text(worker_url), ' to have read the configuration to offset ', text(config_offset),
        ', it joined with ', text(worker_config_offset), ' after it was behind in the generation before'
    ) AS message
FROM (
    SELECT
        behind.*,
        lag(is_behind) OVER (PARTITION BY partition, group_id, incarnation, member_id ORDER BY generation) AS was_behind,
        lag(generation) OVER (PARTITION BY partition, group_id, incarnation, member_id ORDER BY generation) < generation - 1
            AS is_later
    FROM (
        SELECT
            partition, group_id, incarnation, generation, member_id, worker_url, config_offset, worker_config_offset,
            worker_config_offset < config_offset AS is_behind
        FROM connect_assignment
    ) AS behind
) AS pairs
