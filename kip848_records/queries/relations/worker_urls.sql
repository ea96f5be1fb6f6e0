-- The URL of each member of a Connect cluster, and `worker`, its name for people: the URL, and if two members of one
-- generation announced it, the host and the member id too. Dedicated MirrorMaker announces NOTUSED for each.
SELECT
    urls.group_id, urls.partition, urls.incarnation, urls.member_id, urls.worker_url, shared.worker_url IS NOT NULL AS is_shared,
    CASE
        WHEN shared.worker_url IS NULL THEN urls.worker_url
        ELSE concat(urls.worker_url, ' @ ', coalesce(replace(hosts.client_host, '/', ''), '?'), ', member ', urls.member_id)
    END AS worker
FROM (
    SELECT group_id, partition, incarnation, member_id, max(worker_url) AS worker_url
    FROM connect_assignment
    GROUP BY group_id, partition, incarnation, member_id
) AS urls
LEFT JOIN (
    SELECT DISTINCT group_id, partition, incarnation, worker_url
    FROM (
        SELECT group_id, partition, incarnation, generation, worker_url, count(*) AS members
        FROM connect_assignment
        GROUP BY group_id, partition, incarnation, generation, worker_url
    ) AS announced
    WHERE members > 1
) AS shared
    ON shared.group_id = urls.group_id AND shared.partition = urls.partition AND shared.incarnation = urls.incarnation
    AND shared.worker_url = urls.worker_url
LEFT JOIN (
    SELECT group_id, partition, incarnation, member_id, max(client_host) AS client_host
    FROM membership
    GROUP BY group_id, partition, incarnation, member_id
) AS hosts
    ON hosts.group_id = urls.group_id AND hosts.partition = urls.partition AND hosts.incarnation = urls.incarnation
    AND hosts.member_id = urls.member_id
