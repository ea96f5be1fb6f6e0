-- name = "assignor_versions"
-- sentence = "An assignor has a name, and versions such that minimum >= -1, maximum >= 0 and minimum <= version <= maximum"
-- severity = "error"
-- needs = ["early_dialect"]
-- about = "member of a consumer group"
-- shared = true

-- Members have assignors of their own in the dialects before Kafka 3.8, and in no later one.
SELECT rule AS expectation, verdict, group_id, group_epoch, member_id, partition, member_invariants.offset, message
FROM member_invariants
