-- Commits that went back at a handover to the last commit of the new owner's own stay before: it commits a position that it
-- kept. One row a commit; times in ms.
SELECT
  jumps.offsets_partition, jumps.group_id, jumps.incarnation, jumps.topic, jumps.partition, jumps.member_id,
  stays.instance_id, stays.client_id, hosts.client_host, jumps.offset AS at_offset, jumps.before_offset,
  jumps.after_offset, jumps.amount, unix_millis(jumps.jumped_at) AS jumped_ms, stays.acquired_offset,
  unix_millis(captures.captured_at) AS captured_ms
FROM commit_jump AS jumps
JOIN (
  SELECT
    own.offsets_partition, own.group_id, own.incarnation, own.topic, own.partition, own.member_id, own.instance_id,
    own.client_id, own.acquired_offset, own.released_offset,
    lag(own.last_offset) OVER (
      PARTITION BY own.offsets_partition, own.group_id, own.incarnation, own.topic, own.partition, own.member_id
      ORDER BY own.acquired_offset
    ) AS own_last_offset
  FROM commit_progress AS own
  WHERE own.owner = 'member' AND own.last_offset IS NOT NULL
) AS stays
  ON stays.offsets_partition = jumps.offsets_partition AND stays.group_id = jumps.group_id
  AND stays.incarnation = jumps.incarnation AND stays.topic = jumps.topic AND stays.partition = jumps.partition
  AND stays.member_id = jumps.member_id AND stays.acquired_offset < jumps.offset
  AND coalesce(stays.released_offset > jumps.offset, true) AND stays.own_last_offset = jumps.after_offset
JOIN group_state AS present
  ON present.group_id = jumps.group_id AND present.partition = jumps.offsets_partition
JOIN captures ON captures.partition = jumps.offsets_partition
LEFT JOIN member_hosts AS hosts
  ON hosts.partition = jumps.offsets_partition AND hosts.group_id = jumps.group_id
  AND hosts.member_id = jumps.member_id
WHERE jumps.kind = 'back' AND jumps.context = 'owner_change' AND jumps.jumped_at IS NOT NULL
  AND captures.captured_at IS NOT NULL
ORDER BY jumps.offsets_partition, jumps.group_id, jumps.member_id, jumps.topic, jumps.partition, jumps.offset
