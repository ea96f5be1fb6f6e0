-- question = "Why can classic groups not be converted while their members run, and which member and client is it?"
-- needs = []
-- about = "classic group"
-- among = "group_state WHERE group_type = 'classic'"
-- empty = "No classic group has a reason against it"
SELECT group_id, reason, member_id, client_id, client_host, detail, partition
FROM migration_reasons
ORDER BY group_id, partition, reason, member_id
