-- name = "epochs_grow"
-- sentence = "Group epochs, assignment epochs and member epochs only grow, until the group is deleted"
-- severity = "error"
-- needs = []
-- about = "group"
-- shared = true

SELECT rule AS expectation, verdict, group_id, group_epoch, member_id, partition, invariants.offset, message
FROM invariants
