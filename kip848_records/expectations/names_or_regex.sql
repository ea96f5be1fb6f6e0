-- name = "names_or_regex"
-- sentence = "A member subscribes by topic names or by a regular expression, not by both, in the dialects of the drafts"
-- severity = "error"
-- needs = ["draft_dialect"]
-- about = "member of a consumer group"
-- shared = true

-- Since Kafka 4.0 a member may use both.
SELECT rule AS expectation, verdict, group_id, group_epoch, member_id, partition, member_invariants.offset, message
FROM member_invariants
