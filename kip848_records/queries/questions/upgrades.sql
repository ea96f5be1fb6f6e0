-- question = "Which classic groups can move to the consumer protocol, and why can others not?"
-- needs = []
-- about = "classic group"
-- among = "group_state WHERE group_type = 'classic'"
-- empty = "There is no classic group"
SELECT s.group_id, s.state, s.members, s.upgradable, s.upgradable_reason, b.clients
FROM group_state s
LEFT JOIN (
  SELECT m.group_id, m.incarnation, m.generation, array_sort(collect_set(m.client_id)) AS clients
  FROM classic_member m
  WHERE m.subscription_error IS NOT NULL OR m.assignment_error IS NOT NULL
  GROUP BY m.group_id, m.incarnation, m.generation
) AS b ON b.group_id = s.group_id AND b.incarnation = s.incarnation AND b.generation = s.generation
WHERE s.group_type = 'classic'
ORDER BY s.upgradable, s.group_id LIMIT 100
