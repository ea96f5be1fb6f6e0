-- question = "How long did tasks of streams groups have no owner, and did the new owner have their state?"
-- note = "A time is empty if the clock of the broker went back."
-- needs = []
-- about = "handover"
-- among = "task_handover WHERE group_type = 'streams'"
-- empty = "No task of a streams group went from one member to another"
SELECT group_id, subtopology_id, task, from_member, to_member,
       CASE WHEN unowned_ms >= 0 THEN unowned_ms END AS unowned_ms, was_warm, has_changelogs
FROM task_handover
WHERE group_type = 'streams' AND status = 'acquired' AND from_member IS NOT NULL AND history = 'observed'
ORDER BY unowned_ms DESC, group_id, subtopology_id, task, acquired_at LIMIT 20
