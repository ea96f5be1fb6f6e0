-- name = "audit_is_recent"
-- sentence = "The last audit's copy of the log is at most max_age old"
-- severity = "off"
-- needs = []
-- about = "audit"
-- [limits.max_age]
-- default = 93600
-- unit = "seconds"
-- reason = "26 hours: a nightly audit and its run time. It is off by default, because a copy of a log may be old on purpose."

SELECT
    verdict(age > max_age * 1000, true) AS verdict,
    CAST(NULL AS string) AS group_id, CAST(NULL AS int) AS group_epoch, CAST(NULL AS string) AS member_id,
    CAST(NULL AS int) AS partition, CAST(NULL AS bigint) AS offset,
    concat('expected an audit of the last ', max_age_text, ', the last one is ', span(age), ' old')
        AS message
FROM (
    SELECT
        limits.max_age, limits.max_age_text,
        ms_between(CAST(:captured_at AS timestamp), CAST(:now AS timestamp)) AS age
    FROM limits
    WHERE limits.group_id IS NULL
) AS aged
