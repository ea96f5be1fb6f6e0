-- question = "Which groups changed their protocol, and until when were they mixed? Those that mixed protocols for longest come first."
-- needs = []
-- about = "group"
-- among = "groups"
-- empty = "No group changed its protocol"
SELECT m.group_id, m.direction, m.at AS changed_at, m.epoch, m.converted, m.mixed_until
FROM group_migration m
ORDER BY CASE WHEN m.direction = 'upgrade' AND m.mixed_until IS NULL THEN 0 ELSE 1 END,
         coalesce(unix_millis(m.mixed_until) - unix_millis(m.at), 0) DESC, m.at, m.group_id LIMIT 20
