-- The rows of the group that could not be decoded, by reason.
SELECT error_code, min(reason) AS reason, count(*) AS found, min(quarantine.offset) AS first_offset,
    min(partition) AS in_partition
FROM quarantine
WHERE group_id = :group
GROUP BY error_code
ORDER BY found DESC, error_code
LIMIT 5
