-- What groups are searched for besides their ids: members, clients, hosts and topics.
SELECT partition, group_id, member_id, instance_id, client_id, client_host, array_join(array_sort(topics), ' ') AS topics
FROM (
  SELECT *, row_number() OVER (
    PARTITION BY partition, group_id ORDER BY CASE WHEN left_at IS NULL THEN 0 ELSE 1 END,
      coalesce(joined_offset, left_offset) DESC, member_id, group_type, incarnation
  ) AS nth
  FROM membership
) AS stays
WHERE nth <= :members
ORDER BY partition, group_id, nth
