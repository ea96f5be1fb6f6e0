-- Those first during which members of both protocols were in the group: still, or for longest. Then the latest.
SELECT unix_millis(migrations.at) AS at_ms, direction, from_type, to_type, epoch, converted,
    migrations.offset AS at_offset,
    unix_millis(mixed_until) AS mixed_until_ms, count(*) OVER () AS total
FROM group_migration AS migrations
WHERE group_id = :group
ORDER BY CASE WHEN direction = 'upgrade' AND mixed_until IS NULL THEN 0 ELSE 1 END,
    coalesce(unix_millis(mixed_until) - unix_millis(migrations.at), 0) DESC, migrations.at DESC, migrations.offset DESC,
    partition
LIMIT 20
