-- name = "epochs_per_hour"
-- sentence = "A group has at most max_epochs new epochs in any hour"
-- severity = "warn"
-- [limits.max_epochs]
-- default = 120
-- unit = "epochs"
-- reason = "Epochs in any hour: one every 30 s. A rolling restart of 50 members takes 100."

-- Epochs are counted in a sliding window, and never extrapolated from a shorter log.
SELECT
    verdict(in_hour > max_epochs, has_full_history OR in_hour > max_epochs) AS verdict,
    CAST(NULL AS string) AS severity,
    busiest.group_id, group_epoch, CAST(NULL AS string) AS member_id, busiest.partition, bump_offset AS offset,
    concat('expected at most ', max_epochs_text, ' epochs in an hour, seen ', text(in_hour)) AS message
FROM (
    SELECT
        counted_.*,
        row_number() OVER (PARTITION BY partition, group_id ORDER BY in_hour DESC, group_epoch DESC, bump_offset DESC)
            AS nth
    FROM (
        SELECT
            partition, group_id, group_epoch, bump_offset,
            count(*) OVER (
                PARTITION BY partition, group_id ORDER BY unix_seconds(bumped_at)
                RANGE BETWEEN 3599 PRECEDING AND CURRENT ROW
            ) AS in_hour
        FROM epoch_timeline
    ) AS counted_
) AS busiest
JOIN limits ON limits.group_id = busiest.group_id
LEFT JOIN groups ON groups.partition = busiest.partition AND groups.group_id = busiest.group_id
WHERE nth = 1
