SELECT log.*
FROM {log} AS log
ANTI JOIN {places} AS places ON log.partition = places.partition AND log.offset = places.offset
