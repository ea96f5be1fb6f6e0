-- Which groups have members that leave and return?
SELECT group_id, count(*) AS joined, count(left_offset) AS gone
FROM membership WHERE group_type = 'consumer' GROUP BY group_id ORDER BY gone DESC, joined DESC, group_id
