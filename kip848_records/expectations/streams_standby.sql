-- name = "streams_standby"
-- sentence = "Each task with state has a standby, if standbys are configured and there are two processes"
-- severity = "warn"
-- needs = []
-- about = "stable streams group with standbys and two processes"

SELECT
    verdict(lacking > 0, lacking > 0 OR undecided = 0) AS verdict,
    states.group_id, states.group_epoch, CAST(NULL AS string) AS member_id, states.partition, states.offset,
    concat('expected a standby for each task with state, ', text(lacking), ' have none') AS message
FROM group_state AS states
JOIN (
    SELECT partition, group_id, incarnation
    FROM membership
    WHERE left_offset IS NULL
    GROUP BY partition, group_id, incarnation
    HAVING count(DISTINCT process_id) > 1
) AS processes
    ON processes.partition = states.partition AND processes.group_id = states.group_id
    AND processes.incarnation = states.incarnation
JOIN (
    SELECT
        actives.offsets_partition, actives.group_id, actives.incarnation,
        sum(CASE WHEN has_changelogs AND standbys.task IS NULL THEN 1 ELSE 0 END) AS lacking,
        sum(CASE WHEN has_changelogs IS NULL AND standbys.task IS NULL THEN 1 ELSE 0 END) AS undecided
    FROM (SELECT * FROM ownership WHERE role = 'active' AND to_at IS NULL) AS actives
    LEFT JOIN (
        SELECT DISTINCT offsets_partition, group_id, incarnation, subtopology_id, partition AS task
        FROM ownership
        WHERE role <> 'active' AND to_at IS NULL
    ) AS standbys
        ON standbys.offsets_partition = actives.offsets_partition AND standbys.group_id = actives.group_id
        AND standbys.incarnation = actives.incarnation AND standbys.subtopology_id = actives.subtopology_id
        AND standbys.task = actives.partition
    GROUP BY actives.offsets_partition, actives.group_id, actives.incarnation
) AS tasks
    ON tasks.offsets_partition = states.partition AND tasks.group_id = states.group_id
    AND tasks.incarnation = states.incarnation
WHERE states.group_type = 'streams' AND states.state = 'Stable' AND states.standby_replicas > 0
