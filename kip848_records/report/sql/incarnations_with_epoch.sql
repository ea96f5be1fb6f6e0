SELECT DISTINCT partition, incarnation
FROM epoch_timeline
WHERE group_id = :group AND group_epoch = :epoch
ORDER BY partition, incarnation
