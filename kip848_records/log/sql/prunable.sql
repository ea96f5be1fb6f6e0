{# Return `run, partition, offset` of the rows from before the offsets in `limits` that no later state needs: all but the
   last value of each key, deletions of groups, which count incarnations, the probes of compaction, undecodable records,
   records of open transactions, and the records of groups with an open row. The marker of a transaction stays with its
   records: the next marker of their producer tells when they count, and whether they do. A classic group that is converted
   has a tombstone too: a record of the other type follows it at once, so that is no deletion. #}
WITH gone AS (
    SELECT old.run, old.partition, old.offset
    FROM {old} AS old
    ANTI JOIN (
        SELECT tombstones.partition, tombstones.offset
        FROM (SELECT * FROM {old} AS rows WHERE value IS NULL AND {{ is_group_epoch }}) AS tombstones
        UNION ALL
        SELECT tombstones.partition, tombstones.offset
        FROM (SELECT * FROM {old} AS rows WHERE value IS NULL AND {{ is_classic_group }}) AS tombstones
        ANTI JOIN (SELECT * FROM {old} AS rows WHERE value IS NOT NULL AND NOT {{ is_classic_group }}) AS followers
        ON tombstones.partition = followers.partition AND tombstones.offset = followers.offset - 1
          AND tombstones.group_id = followers.group_id AND tombstones.timestamp = followers.timestamp
        UNION ALL
        SELECT probes.partition, probes.offset FROM {probes} AS probes
        UNION ALL
        SELECT last_values.partition, last_values.offset FROM {last_values} AS last_values
        WHERE last_values.value IS NOT NULL
        UNION ALL
        SELECT opened.partition, opened.offset FROM {old} AS opened WHERE {{ is_pending }}
        UNION ALL
        SELECT quarantine.partition, quarantine.offset FROM {quarantine} AS quarantine
    ) AS kept
    ON old.partition = kept.partition AND old.offset = kept.offset
    ANTI JOIN (
        SELECT epochs.group_id FROM {epochs} AS epochs WHERE epochs.status = 'open'
        UNION
        SELECT lags.group_id FROM {lags} AS lags WHERE lags.status = 'open'
    ) AS open_groups
    ON old.group_id = open_groups.group_id
)
SELECT gone.run, gone.partition, gone.offset
FROM gone
ANTI JOIN (
    SELECT ended.partition, ended.marker_offset
    FROM (
        SELECT
            old.partition, old.offset, old.control,
            min(CASE WHEN old.control IS NOT NULL THEN old.offset END) OVER (
                PARTITION BY old.partition, old.producer_id ORDER BY old.offset DESC
            ) AS marker_offset
        FROM {old} AS old
        WHERE old.control IS NOT NULL OR old.transaction IN ('committed', 'aborted', 'unknown')
    ) AS ended
    ANTI JOIN gone ON ended.partition = gone.partition AND ended.offset = gone.offset
    WHERE ended.control IS NULL
) AS needed
ON gone.partition = needed.partition AND gone.offset = needed.marker_offset
