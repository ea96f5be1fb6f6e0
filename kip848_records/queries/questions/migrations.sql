-- Which groups changed their protocol, and until when were they mixed?
SELECT m.group_id, m.direction, m.at AS changed_at, m.epoch, m.converted, m.mixed_until
FROM group_migration m
ORDER BY m.at, m.group_id LIMIT 20
