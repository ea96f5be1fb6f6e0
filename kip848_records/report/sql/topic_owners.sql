-- The clients that own the partitions of groups that commit, presumed to make the commits: with offset commits only.
SELECT DISTINCT progress.group_id, progress.offsets_partition AS partition, progress.client_id
FROM commit_progress AS progress
WHERE progress.owner = 'member' AND progress.released_offset IS NULL AND progress.client_id IS NOT NULL
ORDER BY group_id, partition, client_id
