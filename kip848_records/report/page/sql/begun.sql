-- How many rebalances began in each span of some seconds, and how many of them are ongoing at capture.
SELECT CAST(floor(unix_seconds(began_at) / :step) AS bigint) * :step AS at_s, count(*) AS rebalances,
  CAST(count_if(outcome = 'open') AS bigint) AS ongoing
FROM rebalance
WHERE began_at IS NOT NULL
GROUP BY 1
ORDER BY 1
