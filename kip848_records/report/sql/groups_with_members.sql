-- How many members each group has at the end of the log.
SELECT group_id, count(*) AS members FROM membership WHERE left_at IS NULL GROUP BY group_id ORDER BY group_id
