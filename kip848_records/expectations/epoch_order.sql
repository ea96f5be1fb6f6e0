-- name = "epoch_order"
-- sentence = "A member epoch is never above the assignment epoch, which is never above the group epoch"
-- severity = "error"
-- needs = []
-- about = "group"
-- shared = true

SELECT rule AS expectation, verdict, group_id, group_epoch, member_id, partition, invariants.offset, message
FROM invariants
