-- The Connect workers that left connectors and tasks behind, a row for each time. worker: its URL, or its member id if the
-- log has none. units: how many it left behind. left_offset: of the record that shows it, in the rebalance that began at
-- began_offset. nth: 1 is the worker that left most behind in this rebalance.
SELECT
    found.group_id, found.partition, found.incarnation, found.began_offset, found.member_id, found.left_offset,
    found.units, coalesce(urls.worker, found.member_id) AS worker,
    row_number() OVER (
        PARTITION BY found.group_id, found.partition, found.incarnation, found.began_offset
        ORDER BY found.units DESC, found.left_offset, urls.worker_url, found.member_id
    ) AS nth
FROM (
    -- A rebalance lasts until the next one of the group begins: with a window, each row is read once.
    SELECT
        group_id, partition, incarnation, member_id, left_offset, units,
        max(began_offset) OVER (PARTITION BY group_id, partition, incarnation ORDER BY at_offset) AS began_offset
    FROM (
        SELECT
            group_id, partition, incarnation, from_member AS member_id, released_offset AS left_offset,
            count(*) AS units, released_offset AS at_offset, CAST(NULL AS bigint) AS began_offset
        FROM task_handover
        WHERE reason = 'worker_left' AND connector IS NOT NULL
        GROUP BY group_id, partition, incarnation, from_member, released_offset
        UNION ALL
        SELECT rebalance.group_id, rebalance.partition, rebalance.incarnation, NULL, NULL, NULL, began_offset, began_offset
        FROM rebalance
        JOIN (
            SELECT DISTINCT group_id, partition, incarnation FROM task_handover WHERE reason = 'worker_left'
        ) AS clusters
            ON clusters.group_id = rebalance.group_id AND clusters.partition = rebalance.partition
            AND clusters.incarnation = rebalance.incarnation
    ) AS steps
) AS found
LEFT JOIN worker_urls AS urls
    ON urls.group_id = found.group_id AND urls.partition = found.partition AND urls.incarnation = found.incarnation
    AND urls.member_id = found.member_id
WHERE found.member_id IS NOT NULL
