-- name = "one_owner"
-- sentence = "A partition, an active task or a connector has one owner: at most one member has it assigned or pending revocation"
-- severity = "error"
-- needs = []
-- about = "group"
-- shared = true

SELECT rule AS expectation, verdict, group_id, group_epoch, member_id, partition, invariants.offset, message
FROM invariants
