SELECT count_if(incomplete > 0) AS incomplete, count(*) AS partitions
FROM (
    SELECT partition, max(CASE WHEN complete_from > first_offset OR log_start_missing THEN 1 ELSE 0 END) AS incomplete
    FROM partition_history
    GROUP BY partition
) AS partitions
