-- How many transactions are open, and for how long the oldest has been, by how much is known of them.
SELECT status, count(*) AS transactions, max(age_ms) AS oldest_ms, count(*) - count(age_ms) AS undated
FROM open_transactions_now
GROUP BY status
ORDER BY status
