-- What happened to the log itself, and so to many groups at once, the latest first.
SELECT sentence
FROM troubles
WHERE group_id IS NULL AND pattern IN ('offsets_topic_grew', 'group_in_two_partitions')
ORDER BY first_seen DESC, pattern
LIMIT 3
