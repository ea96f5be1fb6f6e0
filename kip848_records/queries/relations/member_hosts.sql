-- The host of each member, whether it is in its group or has left; of several the last in the alphabet.
SELECT partition, group_id, member_id, max(client_host) AS client_host
FROM membership
GROUP BY partition, group_id, member_id
