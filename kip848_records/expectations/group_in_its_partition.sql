-- name = "group_in_its_partition"
-- sentence = "A group's records are in the partition of __consumer_offsets that the hash of its id gives"
-- severity = "error"
-- needs = []
-- about = "group"
-- [limits.offsets_partitions]
-- default = 0
-- unit = "partitions"
-- reason = "Partitions of __consumer_offsets; 0: inferred from the log, if the log shows it."

-- The number of partitions is offsets_partitions. If that is 0, there are two candidates: the number of partitions that
-- were read, and Kafka's default of 50 (GroupCoordinatorService.partitionFor in Kafka). The one that fits more groups is
-- used, if it fits all groups, or all but a few of many. With a single partition every group is in its partition.
WITH groups_ AS (
    SELECT
        group_state.partition, group_state.group_id, group_id_hash, CAST(floor(limits.offsets_partitions) AS bigint) AS set_
    FROM group_state
    JOIN limits ON limits.group_id = group_state.group_id
), counts AS (
    SELECT CAST(max(partition) AS bigint) + 1 AS partitions, CAST(max(partition) AS bigint) + 1 AS read FROM partition_history
    UNION
    SELECT 50, CAST(max(partition) AS bigint) + 1 FROM partition_history
), best AS (
    SELECT
        partitions, (fitting = placed_groups OR (fitting >= 10 AND fitting >= 0.9 * placed_groups)) AND partitions > 1 AS is_known
    FROM (
        SELECT
            partitions, count(*) AS placed_groups,
            count_if(groups_.partition = groups_.group_id_hash % nullif(counts.partitions, 0)) AS fitting
        FROM groups_
        CROSS JOIN counts
        WHERE set_ = 0 AND partitions >= read
        GROUP BY partitions
    ) AS candidates
    ORDER BY fitting DESC, placed_groups DESC, partitions DESC
    LIMIT 1
), placed AS (
    SELECT
        groups_.*,
        CASE WHEN set_ > 0 THEN true ELSE coalesce(best.is_known, false) END AS is_known,
        group_id_hash % CASE WHEN set_ > 0 THEN set_ ELSE nullif(best.partitions, 0) END AS expected,
        CASE WHEN set_ > 0 THEN set_ ELSE best.partitions END AS partitions
    FROM groups_
    LEFT JOIN best ON true
)
SELECT
    verdict(partition <> expected, is_known) AS verdict,
    group_id, CAST(NULL AS int) AS group_epoch, CAST(NULL AS string) AS member_id, partition,
    CAST(NULL AS bigint) AS offset,
    CASE WHEN is_known
        THEN concat('expected partition ', text(expected), ' of ', text(partitions), ', seen in ', text(partition))
        ELSE 'how many partitions __consumer_offsets has is not known: set offsets_partitions'
    END AS message
FROM placed
