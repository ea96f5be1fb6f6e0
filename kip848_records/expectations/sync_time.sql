-- name = "sync_time"
-- sentence = "The leader of a classic group sends the assignment within max_seconds of the last member's join"
-- severity = "warn"
-- needs = []
-- about = "generation of a classic group"
-- rows_of = "classic_generation"
-- [limits.max_seconds]
-- default = 10
-- unit = "seconds"
-- reason = "Every member has joined, and no member has an assignment. An assignor takes milliseconds to a few seconds."

SELECT
    verdict(sync_ms > max_seconds * 1000, sync_ms IS NOT NULL) AS verdict,
    generations.group_id, generation AS group_epoch, leader AS member_id, partition, generations.offset,
    concat(
        'expected the assignment within ', max_seconds_text, ', ',
        CASE WHEN sync_ms IS NULL THEN 'the log does not show the time'
            ELSE concat('leader ', text(leader), ' took ', span(sync_ms))
        END
    ) AS message
FROM classic_generation AS generations
JOIN limits ON limits.group_id = generations.group_id
WHERE cause NOT IN ('created', 'emptied', 'downgraded')
