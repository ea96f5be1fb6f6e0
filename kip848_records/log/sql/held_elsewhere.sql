{# Return `partition, offset` of each record of a known group that a copy could not read, and that another one holds. #}
SELECT lost.partition, lost.offset
FROM (
    SELECT DISTINCT log.partition, log.offset
    FROM {log} AS log
    WHERE log.error_code IS NOT NULL AND log.group_id IS NOT NULL AND log.offset IS NOT NULL
) AS lost
SEMI JOIN (SELECT log.partition, log.offset FROM {log} AS log WHERE {{ is_readable }}) AS held
ON lost.partition = held.partition AND lost.offset = held.offset
