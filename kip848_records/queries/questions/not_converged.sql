-- Which groups are stuck now, and who blocks them?
SELECT g.group_id, g.state, g.since, m.member_id, m.client_id, m.client_host, m.behind_since, m.blocked_by
FROM group_state g
LEFT JOIN rebalance_lag m
  ON m.group_id = g.group_id AND m.partition = g.partition AND m.incarnation = g.incarnation
  AND m.status = 'open' AND NOT m.superseded
WHERE g.state IN ('Assigning', 'Reconciling', 'NotReady') AND NOT coalesce(g.waits_for_away_only, false)
ORDER BY g.since, g.group_id, m.revoke_ms DESC, m.member_id
