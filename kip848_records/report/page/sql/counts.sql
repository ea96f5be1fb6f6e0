-- How many groups there are of each health.
SELECT health, count(*) AS groups FROM ranked GROUP BY health ORDER BY health
