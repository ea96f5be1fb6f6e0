-- How many members left, expired or were replaced during each ongoing rebalance; no row: none.
SELECT rebalance.group_id, rebalance.partition, rebalance.incarnation, rebalance.began_offset, count(*) AS members_left
FROM rebalance
JOIN membership AS stay
    ON stay.group_id = rebalance.group_id AND stay.partition = rebalance.partition
    AND stay.incarnation = rebalance.incarnation AND stay.left_offset >= rebalance.began_offset
WHERE rebalance.outcome = 'open'
GROUP BY rebalance.group_id, rebalance.partition, rebalance.incarnation, rebalance.began_offset
