-- What is in the topic, by type, group and topic: of the copy of each partition with which history starts, so that no
-- record of a replica counts twice.
SELECT content.*
FROM topic_content AS content
LEFT JOIN partition_history AS history ON history.partition = content.partition AND history.copy = content.copy
WHERE coalesce(history.is_base, true)
