-- name = "connect_delay"
-- sentence = "Connect delays the tasks of a lost worker for at most max_seconds, and no worker is lost twice in a row"
-- severity = "warn"
-- needs = []
-- about = "generation of a Connect cluster"
-- rows_of = "connect_assignment"
-- [limits.max_seconds]
-- default = 300
-- unit = "seconds"
-- reason = "Connect's own default (scheduled.rebalance.max.delay.ms)."

WITH workers AS (
    SELECT
        found.partition, found.group_id, found.incarnation, found.generation, names.worker,
        max(found.delay_ms) AS delay_ms
    FROM connect_assignment AS found
    LEFT JOIN worker_urls AS names
        ON names.partition = found.partition AND names.group_id = found.group_id
        AND names.incarnation = found.incarnation AND names.member_id = found.member_id
    GROUP BY found.partition, found.group_id, found.incarnation, found.generation, names.worker
), generations AS (
    SELECT
        partition, group_id, incarnation, generation, delay_ms,
        lead(generation) OVER (PARTITION BY partition, group_id, incarnation ORDER BY generation) AS next_generation,
        lead(delay_ms) OVER (PARTITION BY partition, group_id, incarnation ORDER BY generation) AS next_delay_ms
    FROM (
        SELECT partition, group_id, incarnation, generation, max(delay_ms) AS delay_ms
        FROM workers
        GROUP BY partition, group_id, incarnation, generation
    ) AS delays
), lost AS (
    SELECT
        workers.partition, workers.group_id, workers.incarnation, generations.next_generation AS generation,
        workers.worker
    FROM workers
    JOIN generations
        ON generations.partition = workers.partition AND generations.group_id = workers.group_id
        AND generations.incarnation = workers.incarnation AND generations.generation = workers.generation
    LEFT JOIN workers AS later
        ON later.partition = workers.partition AND later.group_id = workers.group_id
        AND later.incarnation = workers.incarnation AND later.generation = generations.next_generation
        AND later.worker = workers.worker
    WHERE next_delay_ms > 0 AND later.worker IS NULL
), losses AS (
    SELECT
        partition, group_id, incarnation, generation,
        lag(generation) OVER (PARTITION BY partition, group_id, incarnation ORDER BY generation) AS previous
    FROM (SELECT DISTINCT partition, group_id, incarnation, generation FROM lost) AS distinct_
), repeated AS (
    SELECT lost.partition, lost.group_id, lost.incarnation, lost.generation, min(lost.worker) AS worker
    FROM lost
    JOIN losses
        ON losses.partition = lost.partition AND losses.group_id = lost.group_id
        AND losses.incarnation = lost.incarnation AND losses.generation = lost.generation
    JOIN lost AS earlier
        ON earlier.partition = lost.partition AND earlier.group_id = lost.group_id
        AND earlier.incarnation = lost.incarnation AND earlier.generation = losses.previous
        AND earlier.worker = lost.worker
    GROUP BY lost.partition, lost.group_id, lost.incarnation, lost.generation
)
SELECT
    verdict(delay_ms > max_seconds * 1000 OR worker IS NOT NULL, true) AS verdict,
    generations.group_id, generations.generation AS group_epoch, CAST(NULL AS string) AS member_id,
    generations.partition, CAST(NULL AS bigint) AS offset,
    CASE WHEN worker IS NOT NULL
        THEN concat('expected other workers to be lost after ', text(worker), ', it was lost twice in a row')
        ELSE concat('expected a delay of at most ', max_seconds_text, ', seen ', span(delay_ms))
    END AS message
FROM generations
JOIN limits ON limits.group_id = generations.group_id
LEFT JOIN repeated
    ON repeated.partition = generations.partition AND repeated.group_id = generations.group_id
    AND repeated.incarnation = generations.incarnation AND repeated.generation = generations.generation
