-- Which members cause the most epochs?
SELECT group_id, member_id, count(*) AS epochs, array_sort(collect_set(cause)) AS causes
FROM (SELECT group_id, cause, explode(trigger_member_ids) AS member_id FROM epoch_timeline) AS triggers
GROUP BY group_id, member_id ORDER BY epochs DESC, group_id, member_id LIMIT 10
