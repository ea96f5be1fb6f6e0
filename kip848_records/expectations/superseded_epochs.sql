-- name = "superseded_epochs"
-- sentence = "At most max_percent of a group's epochs are superseded before they converge, if it has at least min_epochs"
-- severity = "warn"
-- needs = []
-- about = "group with at least min_epochs epochs"
-- [limits.max_percent]
-- default = 80
-- unit = "percent"
-- reason = "Percent of a group's epochs that were never Stable. Every rolling restart has some."
-- [limits.min_epochs]
-- default = 20
-- unit = "epochs"
-- reason = "A percentage of fewer epochs means little."

SELECT
    verdict(
        CASE WHEN complete > 0 THEN 100 * superseded / complete > max_percent END, complete >= min_epochs
    ) AS verdict,
    group_id, CAST(NULL AS int) AS group_epoch, CAST(NULL AS string) AS member_id, partition,
    CAST(NULL AS bigint) AS offset,
    concat(
        'expected at most ', max_percent_text, ' % of epochs to be superseded, seen ', text(superseded), ' of ',
        text(complete)
    ) AS message
FROM (
    SELECT
        partition, group_id, count_if(is_complete) AS complete,
        count_if(is_complete AND status = 'superseded') AS superseded,
        bool_and(is_complete) AS all_complete
    FROM (
        SELECT
            epoch_timeline.*,
            epoch_timeline.history = 'observed'
                OR (epoch_timeline.history = 'right_censored' AND NOT coalesce(group_state.state = 'unknown', false))
                AS is_complete
        FROM epoch_timeline
        LEFT JOIN group_state
            ON group_state.partition = epoch_timeline.partition AND group_state.group_id = epoch_timeline.group_id
    ) AS epochs
    WHERE status IS DISTINCT FROM 'open'
    GROUP BY partition, group_id
) AS ended
JOIN limits USING (group_id)
WHERE complete >= min_epochs OR NOT all_complete
