-- Who joined and who left from an epoch or generation on. returns: its member id had been in the group before. worker: the
-- URL of a Connect worker; left_units: how many connectors and tasks it left behind. latest: 1 for the stay that was joined or
-- left last, and so on; the answer ends with :most.
SELECT stays.member_id, client_id, client_host, instance_id, joined_epoch, joined_how, left_epoch, left_how, returns,
    urls.worker, gone.units AS left_units, stays.latest
FROM (
    SELECT
        every.*,
        row_number() OVER (
            ORDER BY greatest(joined_offset, coalesce(left_offset, joined_offset)) DESC, member_id, joined_offset
        ) AS latest
    FROM (
        SELECT
            group_id, partition, incarnation, member_id, client_id, client_host, instance_id, joined_epoch, joined_how,
            left_epoch, left_how, left_offset,
            row_number() OVER (PARTITION BY member_id ORDER BY joined_offset) > 1 AS returns, joined_offset
        FROM membership
        WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation AND joined_offset IS NOT NULL
    ) AS every
    WHERE joined_epoch >= :epoch OR left_epoch >= :epoch
) AS stays
LEFT JOIN worker_urls AS urls
    ON urls.group_id = stays.group_id AND urls.partition = stays.partition AND urls.incarnation = stays.incarnation
    AND urls.member_id = stays.member_id
LEFT JOIN workers_left AS gone
    ON gone.group_id = stays.group_id AND gone.partition = stays.partition AND gone.incarnation = stays.incarnation
    AND gone.member_id = stays.member_id AND gone.left_offset = stays.left_offset
WHERE stays.latest <= :most
ORDER BY joined_offset, stays.member_id
