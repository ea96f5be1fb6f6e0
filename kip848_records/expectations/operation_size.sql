-- name = "operation_size"
-- sentence = "The records of one operation fit into a batch of max_bytes; from warn_percent of it on, this is a warning"
-- severity = "error"
-- needs = []
-- about = "group with members"
-- [limits.max_bytes]
-- default = 1048588
-- unit = "bytes"
-- reason = "The default of max.message.bytes, which applies to __consumer_offsets too."
-- [limits.warn_percent]
-- default = 80
-- unit = "percent"
-- reason = "Percent of max_bytes. If a group grows beyond it, members soon cannot join any more."

-- The coordinator writes the records of an operation in one batch, and fails the operation if they do not fit: no member
-- can join a group with a larger assignment. The check compares the largest operation of a group, in bytes before
-- compression.
SELECT
    verdict(is_large, has_full_history OR is_large) AS verdict,
    CASE WHEN largest_operation_bytes <= max_bytes THEN 'warn' END AS severity,
    group_id, CAST(NULL AS int) AS group_epoch, CAST(NULL AS string) AS member_id, partition,
    largest_operation_offset AS offset,
    concat(
        'expected operations of at most ', max_bytes_text, ' bytes, the largest has ', text(largest_operation_bytes),
        ' bytes'
    ) AS message
FROM (
    SELECT
        group_state.*, limits.max_bytes, limits.max_bytes_text,
        largest_operation_bytes * 1e2 > limits.max_bytes * limits.warn_percent
            OR largest_operation_bytes > limits.max_bytes AS is_large
    FROM group_state
    JOIN limits ON limits.group_id = group_state.group_id
    WHERE group_state.group_type <> 'simple'
) AS sized
