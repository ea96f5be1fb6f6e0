{# Return `partition, offset` of the records that bases lack. A base that could not read the record at an offset does not
   lack it: compaction had left it there. #}
SELECT lacking.partition, lacking.offset
FROM (
    SELECT /*+ BROADCAST(bases) */ log.partition, log.offset
    FROM (SELECT * FROM {log} AS rows WHERE {{ is_readable }}) AS log
    JOIN {bases} AS bases ON log.partition = bases.partition
    WHERE log.offset >= bases.first_offset AND log.offset < bases.until_offset
      AND NOT array_contains(log.copies, bases.base)
) AS lacking
ANTI JOIN (
    SELECT /*+ BROADCAST(bases) */ log.partition, log.offset
    FROM (SELECT * FROM {log} AS rows WHERE error_code IS NOT NULL) AS log
    JOIN {bases} AS bases ON log.partition = bases.partition
    WHERE log.offset >= bases.first_offset AND log.offset < bases.until_offset
      AND array_contains(log.copies, bases.base)
) AS unread
ON lacking.partition = unread.partition AND lacking.offset = unread.offset
