-- What is or was wrong with groups over time: rows of diagnosis without those that are no alarm, and those that another
-- row of the group explains. harm: errors before warnings, then the share of the group's work that was lost. ended_ms: for
-- how long it had been over at the capture, in ms; null while it is present.
SELECT
    found.*, CASE WHEN NOT is_present THEN lasted_ms(ended_at, captures.captured_at) END AS ended_ms,
    CASE severity WHEN 'error' THEN 2 ELSE 0 END + least(coalesce(cost_share, 0), 1) AS harm
FROM diagnosis AS found
LEFT JOIN (SELECT max(captured_at) AS captured_at FROM captures) AS captures ON true
WHERE severity <> 'info' AND explained_by IS NULL
