-- name = "commit_rate"
-- sentence = "A group commits offsets at most max_per_second times a second, and at most max_unchanged percent of its commits change nothing"
-- severity = "warn"
-- needs = ["topic_content"]
-- about = "group with offset commits"
-- [limits.max_per_second]
-- default = 1000
-- unit = "records"
-- reason = "With the default of auto.commit.interval.ms, 5 s, it takes 5,000 partitions. More of it mostly means a commit for each message."
-- [limits.max_unchanged]
-- default = 90
-- unit = "percent"
-- reason = "A client that commits on a timer, without progress, writes as much as a busy one. It counts from min_commits on."
-- [limits.min_commits]
-- default = 10000
-- unit = "records"
-- reason = "Fewer commits that change nothing cost little."

-- Measured where the cleaner has not been: elsewhere most commits are gone. Less than a minute of it shows no rate. Each limit
-- that is broken has its own message.
SELECT
    verdict(
        commits.is_fast OR commits.is_idle, commits.per_second IS NOT NULL OR coalesce(commits.is_idle, false)
    ) AS verdict,
    commits.group_id, CAST(NULL AS int) AS group_epoch, CAST(NULL AS string) AS member_id,
    commits.partition, CAST(NULL AS bigint) AS offset,
    CASE
        WHEN commits.dirty_records IS NULL THEN 'the source does not show where the cleaner has been'
        WHEN commits.per_second IS NULL AND NOT coalesce(commits.is_idle, false)
            THEN 'the log shows less than a minute of its partition'
        ELSE concat_ws(
            '; ',
            CASE WHEN commits.is_fast OR NOT coalesce(commits.is_idle, false) THEN concat(
                'expected at most ', commits.max_per_second_text, ' commits a second, it made ',
                thousands(CAST(round(commits.per_second) AS bigint)), ' a second for ', span(commits.rate_ms), ': ',
                counted(commits.dirty_records, record),
                CASE WHEN commits.is_average THEN ', an average over the part of the partition that is not cleaned'
                ELSE '' END
            ) END,
            CASE WHEN commits.is_idle THEN concat(
                'expected at most ', commits.max_unchanged_text, ' % of its commits to change nothing, seen ',
                thousands(commits.dirty_unchanged), ' of ', thousands(commits.dirty_records)
            ) END
        )
    END AS message
FROM (
    SELECT
        now.*, limits.max_per_second, limits.max_per_second_text, limits.max_unchanged_text,
        now.per_second > limits.max_per_second AS is_fast,
        now.dirty_records >= limits.min_commits AND now.dirty_unchanged * 1e2 > limits.max_unchanged * now.dirty_records
            AS is_idle
    FROM committing_now AS now
    JOIN limits ON limits.group_id IS NOT DISTINCT FROM now.group_id
) AS commits
