-- question = "Who has what now: the partitions, tasks or connectors of each member, its target, and what it is asked to revoke?"
-- note = "A member without any has one row. is_classic: it uses the classic protocol. role: of tasks, and of what Connect runs."
-- needs = []
-- about = "group"
-- among = "group_state"
-- empty = "No member is known"
SELECT
  group_id, client_id, client_host, instance_id, place, role, present, target, pending, present_units, target_units,
  pending_units, state, is_classic, member_id
FROM owners
ORDER BY group_id, partition, client_id, client_host, instance_id, member_id, place, role
