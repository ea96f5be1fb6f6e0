-- Which groups have members that leave and return?
-- Each start of a client takes a new member id. The log does not distinguish members that left, expired or were fenced.
-- Members that a conversion of the protocol ended are not counted as gone.
SELECT group_id, group_type, count(*) AS joined,
       count_if(left_offset IS NOT NULL AND coalesce(left_how, '') NOT IN ('upgraded', 'downgraded')) AS gone
FROM membership GROUP BY group_id, group_type ORDER BY gone DESC, joined DESC, group_id, group_type
