-- name = "streams_cold_handover"
-- sentence = "At most max_tasks tasks with state go to processes without that state in any hour"
-- severity = "warn"
-- needs = []
-- about = "handover of a task of a streams group"
-- rows_of = "task_handover"
-- [limits.max_tasks]
-- default = 20
-- unit = "tasks"
-- reason = "Tasks in any hour. The new owner restores the state from the changelog topics, and the task waits for it."

SELECT
    verdict(cold > max_tasks, cold > max_tasks OR (has_full_history AND most <= max_tasks)) AS verdict,
    busiest.group_id, epoch AS group_epoch, CAST(NULL AS string) AS member_id, busiest.partition,
    acquired_offset AS offset,
    concat('expected at most ', max_tasks_text, ' tasks without their state in an hour, seen ', text(cold)) AS message
FROM (
    SELECT
        counted_.*,
        max(maybe_cold) OVER (PARTITION BY partition, group_id) AS most,
        row_number() OVER (
            PARTITION BY partition, group_id
            ORDER BY cold DESC, maybe_cold DESC, acquired_offset DESC, subtopology_id, task
        ) AS nth
    FROM (
        SELECT
            partition, group_id, epoch, acquired_offset, subtopology_id, task,
            sum(CASE WHEN has_changelogs AND NOT was_warm THEN 1 ELSE 0 END) OVER (
                PARTITION BY partition, group_id ORDER BY unix_seconds(acquired_at)
                RANGE BETWEEN 3599 PRECEDING AND CURRENT ROW
            ) AS cold,
            sum(CASE WHEN coalesce(has_changelogs AND NOT was_warm, true) THEN 1 ELSE 0 END) OVER (
                PARTITION BY partition, group_id ORDER BY unix_seconds(acquired_at)
                RANGE BETWEEN 3599 PRECEDING AND CURRENT ROW
            ) AS maybe_cold
        FROM task_handover
        WHERE group_type = 'streams' AND status = 'acquired' AND from_member IS NOT NULL
    ) AS counted_
) AS busiest
JOIN limits ON limits.group_id = busiest.group_id
LEFT JOIN groups ON groups.partition = busiest.partition AND groups.group_id = busiest.group_id
WHERE nth = 1
