-- Which groups have members that leave and return?
-- Each start of a client takes a new member id. The log does not distinguish members that left, expired or were fenced.
SELECT group_id, count(*) AS joined, count(left_offset) AS gone
FROM membership WHERE group_type = 'consumer' GROUP BY group_id ORDER BY gone DESC, joined DESC, group_id
