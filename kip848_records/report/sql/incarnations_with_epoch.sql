-- For a classic group, the epoch is a generation.
SELECT DISTINCT partition, incarnation
FROM (
    SELECT partition, incarnation FROM epoch_timeline WHERE group_id = :group AND group_epoch = :epoch
    UNION ALL
    SELECT partition, incarnation FROM classic_generation WHERE group_id = :group AND generation = :epoch
) AS steps
ORDER BY partition, incarnation
