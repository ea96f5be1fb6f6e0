SELECT /*+ BROADCAST(limits) */ log.*
FROM {log} AS log
JOIN {limits} AS limits ON log.partition = limits.place
WHERE log.offset < limits.kept_from
