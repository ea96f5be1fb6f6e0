-- question = "Which rows did not decode, and why?"
-- needs = []
-- about = "record of groups"
-- empty = "Every row that was read decodes"
-- [without]
-- offset_commits = "offset commits are among no row"
SELECT error_code, reason, partition, count(*) AS row_count, min(q.offset) AS first_offset, max(q.offset) AS last_offset
FROM quarantine q GROUP BY error_code, reason, partition ORDER BY row_count DESC, partition, error_code, reason
