-- The URL of each member of a Connect cluster.
SELECT group_id, partition, incarnation, member_id, max(worker_url) AS worker_url
FROM connect_assignment
GROUP BY group_id, partition, incarnation, member_id
