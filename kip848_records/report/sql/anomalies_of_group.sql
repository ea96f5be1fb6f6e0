-- What in the group's records contradicts the protocol, by kind, the latest of each. Records that no broker loads are named
-- elsewhere.
SELECT kind, count(*) AS found, max(anomaly.offset) AS last_offset, max(partition) AS in_partition,
    bool_or(is_proven) AS is_proven
FROM anomaly
WHERE group_id = :group AND kind <> 'record_not_loadable'
GROUP BY kind
ORDER BY is_proven DESC, found DESC, kind
