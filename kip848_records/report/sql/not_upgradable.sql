-- How many classic groups there are by the reasons for which they cannot be upgraded, null for none. Groups of another
-- protocol type, such as Connect, have no other protocol to be upgraded to: they do not count.
SELECT upgradable_reason, count(*) AS groups
FROM group_state
WHERE group_type = 'classic' AND coalesce(upgradable_reason, '') NOT LIKE '%protocol_type%'
GROUP BY upgradable_reason
ORDER BY groups DESC, upgradable_reason
