-- The seconds from the first rebalance to the last.
SELECT max(unix_seconds(began_at)) - min(unix_seconds(began_at)) AS seconds
FROM rebalance
