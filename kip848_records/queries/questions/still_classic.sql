-- question = "Which clients still use the classic protocol, in which groups? Subscription versions tell client libraries apart."
-- needs = []
-- about = "member"
-- among = "members_by_protocol"
-- empty = "No member uses the classic protocol"
SELECT
  client_id, client_host, count(*) AS members, count_if(instance_id IS NOT NULL) AS static_members,
  array_sort(collect_set(group_id)) AS group_ids, array_sort(collect_set(protocol)) AS assignors,
  array_sort(collect_set(subscription_version)) AS subscription_versions,
  bool_or(subscription_error IS NOT NULL) AS writes_malformed, max(joined_at) AS last_joined_at
FROM members_by_protocol
WHERE is_classic AND coalesce(protocol_type, 'consumer') = 'consumer'
GROUP BY client_id, client_host
ORDER BY writes_malformed DESC, members DESC, client_id, client_host
