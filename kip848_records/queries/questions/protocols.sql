-- question = "Which groups changed their protocol, or the broker's assignor that their members name?"
-- needs = []
-- about = "group"
-- among = "groups"
-- empty = "No group changed its protocol, or the assignor that its members name"
WITH used AS (
  SELECT group_id, 'protocol' AS what, group_type AS value FROM group_state_timeline
  UNION ALL SELECT group_id, 'assignor', coalesce(server_assignor, 'default of the broker')
    FROM membership WHERE group_type = 'consumer')
SELECT group_id, what, array_sort(collect_set(value)) AS used
FROM used GROUP BY group_id, what HAVING size(used) > 1 ORDER BY group_id, what
