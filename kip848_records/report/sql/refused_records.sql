-- The records in the group's partitions for which a broker does not load the partition, with all its groups.
SELECT anomaly.partition, anomaly.group_id, anomaly.offset AS at_offset, anomaly.seen, anomaly.releases,
    anomaly.known_bug, anomaly.is_proven, count(*) OVER () AS total
FROM anomaly
WHERE anomaly.kind = 'record_not_loadable' AND anomaly.partition IN (
    SELECT states.partition FROM group_state_timeline AS states WHERE states.group_id = :group
)
ORDER BY anomaly.partition, anomaly.offset
LIMIT 3
