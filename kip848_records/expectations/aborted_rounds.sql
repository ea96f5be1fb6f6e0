-- name = "aborted_rounds"
-- sentence = "A classic group gives up at most max_rounds generations before one gets its assignment"
-- severity = "warn"
-- needs = []
-- about = "generation of a classic group"
-- rows_of = "classic_generation"
-- [limits.max_rounds]
-- default = 5
-- unit = "generations"
-- reason = "The group gives a generation up if a member joins or leaves before the leader has sent the assignment."

SELECT
    verdict(CAST(rounds AS bigint) - 1 > max_rounds, rounds IS NOT NULL) AS verdict,
    generations.group_id, generation AS group_epoch, CAST(NULL AS string) AS member_id, partition,
    generations.offset,
    concat(
        'expected at most ', max_rounds_text, ' generations without an assignment before this one, ',
        CASE WHEN rounds IS NULL THEN 'the log does not show it' ELSE concat('seen ', text(CAST(rounds AS bigint) - 1)) END
    ) AS message
FROM classic_generation AS generations
JOIN limits ON limits.group_id = generations.group_id
WHERE cause NOT IN ('created', 'emptied', 'downgraded')
