SELECT unix_millis(migrations.at) AS at_ms, direction, from_type, to_type, epoch, converted,
    unix_millis(mixed_until) AS mixed_until_ms, count(*) OVER () AS total
FROM group_migration AS migrations
WHERE group_id = :group
ORDER BY migrations.at DESC, migrations.offset DESC, partition
LIMIT 20
