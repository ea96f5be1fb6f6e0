-- The partitions that hold offsets, of the copy with which history starts: if any does, the topic is not empty.
SELECT partition
FROM partition_history
WHERE is_base AND last_offset >= first_offset
ORDER BY partition
