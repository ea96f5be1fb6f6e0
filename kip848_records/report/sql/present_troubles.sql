-- The troubles of groups over time that last at capture and are alarms, the worst of each group first.
SELECT group_id, partition, incarnation, pattern, median_interval_ms, subject, sentence, next_step
FROM troubles_now
ORDER BY group_id, partition, nth
