-- The worst trouble over time of each group that has one at capture. Rows that another row of the group explains are left
-- out, and those that are no alarm.
SELECT partition, group_id, pattern, severity, count, at_least, first_seen, subject, sentence, next_step,
  CASE severity WHEN 'error' THEN 2 ELSE 0 END + least(coalesce(cost_share, 0), 1) AS harm
FROM (
  SELECT *, row_number() OVER (
    PARTITION BY partition, group_id
    ORDER BY CASE severity WHEN 'error' THEN 0 ELSE 1 END, coalesce(cost_share, 0) DESC, first_seen, pattern,
      count DESC, subject.client_id, subject.client_host, subject.instance_id, subject.member_id, subject.what,
      subject.regex, episode
  ) AS nth
  FROM diagnosis
  WHERE is_present AND explained_by IS NULL AND severity <> 'info' AND group_id IS NOT NULL
) AS found
WHERE nth = 1
