SELECT migrations.partition, migrations.group_id, incarnation, direction, from_type, to_type,
  unix_millis(migrations.at) AS at_ms, migrations.offset AS at_offset, epoch, converted,
  unix_millis(mixed_until) AS mixed_until_ms, history
FROM group_migration AS migrations
JOIN chosen ON migrations.partition = chosen.partition AND migrations.group_id = chosen.group_id
