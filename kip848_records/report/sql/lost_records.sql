-- The partitions in which records were lost to all copies, and between which offsets.
SELECT partition, first_lost_offset, last_lost_offset
FROM partition_history
WHERE is_base AND first_lost_offset IS NOT NULL
ORDER BY partition
