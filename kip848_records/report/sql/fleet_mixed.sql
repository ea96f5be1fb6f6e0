-- The members of the classic protocol that are left in consumer groups, those that joined first before others.
SELECT
    judged.group_id, judged.verdict, judged.consumer_members, judged.classic_members,
    unix_millis(judged.mixed_since) AS mixed_since_ms, unix_millis(judged.captured_at) AS captured_ms,
    members.member_id, members.client_id, members.client_host, members.instance_id, unix_millis(members.joined_at) AS joined_ms
FROM migration_now AS judged
JOIN members_by_protocol AS members ON members.partition = judged.partition AND members.group_id = judged.group_id
WHERE judged.verdict IN ('mixed', 'only_classic') AND members.is_classic
ORDER BY judged.mixed_since, judged.group_id, members.joined_at, members.member_id
