SELECT health, count(*) AS groups FROM health_now GROUP BY health ORDER BY health
