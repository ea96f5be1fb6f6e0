-- question = "Which groups are stuck now, since when, and who blocks them?"
-- note = "A classic group, a Connect cluster or a share group reads Stable while it is stuck. For a Connect cluster, member_id is a worker that left; its connectors and tasks run nowhere since behind_since. For a classic group it is a member that had to give partitions up, and has not asked for the next generation since."
-- needs = []
-- about = "group"
-- among = "group_state"
-- undecided = "state = 'unknown'"
-- empty = "No group is stuck"
SELECT g.group_id, g.group_type, g.state, s.stuck_since AS since,
       coalesce(m.member_id, w.member_id, c.blocker.member_id) AS member_id,
       coalesce(m.client_id, w.client_id, c.blocker.client_id) AS client_id,
       coalesce(m.client_host, w.client_host, c.blocker.client_host) AS client_host,
       coalesce(m.behind_since, w.released_at, timestamp_millis(unix_millis(g.captured_at) - least(greatest(c.blocker.late_ms, 0), unix_millis(g.captured_at)))) AS behind_since,
       m.blocked_by
FROM group_state g
JOIN stuck_now s ON s.group_id = g.group_id AND s.partition = g.partition
LEFT JOIN rebalance_lag m
  ON m.group_id = g.group_id AND m.partition = g.partition AND m.incarnation = g.incarnation
  AND m.status = 'open' AND NOT m.superseded
LEFT JOIN (SELECT t.group_id, t.partition, t.incarnation, t.from_member AS member_id, max(s.client_id) AS client_id,
                  max(s.client_host) AS client_host, min(t.released_at) AS released_at
           FROM task_handover t
           LEFT JOIN membership s ON s.group_id = t.group_id AND s.partition = t.partition
             AND s.incarnation = t.incarnation AND s.member_id = t.from_member
           WHERE t.status = 'open' AND t.reason = 'worker_left'
           GROUP BY t.group_id, t.partition, t.incarnation, t.from_member) w
  ON w.group_id = g.group_id AND w.partition = g.partition AND w.incarnation = g.incarnation
LEFT JOIN (SELECT group_id, partition, incarnation, explode(blockers) AS blocker
           FROM rebalance
           WHERE outcome = 'open' AND group_type = 'classic') c
  ON c.group_id = g.group_id AND c.partition = g.partition AND c.incarnation = g.incarnation
WHERE s.is_stuck
ORDER BY since, g.group_id, m.revoke_ms DESC, member_id
