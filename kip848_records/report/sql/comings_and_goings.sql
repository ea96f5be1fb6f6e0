-- Who joined and who left from an epoch or generation on. returns: its member id had been in the group before.
SELECT member_id, client_id, client_host, instance_id, joined_epoch, joined_how, left_epoch, left_how, returns
FROM (
    SELECT
        member_id, client_id, client_host, instance_id, joined_epoch, joined_how, left_epoch, left_how,
        row_number() OVER (PARTITION BY member_id ORDER BY joined_offset) > 1 AS returns, joined_offset
    FROM membership
    WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation AND joined_offset IS NOT NULL
) AS stays
WHERE joined_epoch >= :epoch OR left_epoch >= :epoch
ORDER BY joined_offset, member_id
LIMIT 5000
