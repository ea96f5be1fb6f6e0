-- One row for each group that the log has ever had, the worst first.
WITH every AS (
  SELECT partition, group_id, CAST(max(incarnation) AS bigint) + 1 AS incarnations,
    max_by(group_type, (incarnation, from_offset)) AS group_type
  FROM group_state_timeline GROUP BY partition, group_id
),
hourly AS (
  SELECT partition, group_id, count(*) OVER (
    PARTITION BY partition, group_id ORDER BY unix_seconds(began_at) RANGE BETWEEN 3599 PRECEDING AND CURRENT ROW
  ) AS in_hour
  FROM rebalance
),
busiest AS (
  SELECT partition, group_id, count(*) AS rebalances, max(in_hour) AS peak_per_hour
  FROM hourly GROUP BY partition, group_id
),
protocols AS (
  SELECT partition, group_id, max_by(protocol_type, (incarnation, generation)) AS protocol_type,
    max_by(completed_at, (incarnation, generation)) AS completed_at
  FROM classic_generation WHERE protocol_type IS NOT NULL GROUP BY partition, group_id
),
idle AS (
  SELECT partition, group_id, CAST(least(sum(CAST(idle_ms AS decimal(38, 0))), 9223372036854775807) AS bigint) AS idle_ms
  FROM (
    SELECT offsets_partition AS partition, group_id, wanted_ms AS idle_ms, history, to_member IS NULL AS is_open, clock_skew
    FROM partition_handover WHERE has_epochs(group_type) OR to_member IS NULL
    UNION ALL
    SELECT partition, group_id, CASE WHEN has_epochs(group_type) THEN wanted_ms ELSE unowned_ms END AS idle_ms, history,
      status = 'open' AS is_open, clock_skew
    FROM task_handover WHERE has_epochs(group_type) OR status <> 'removed'
  ) AS gaps
  WHERE idle_ms > 0 AND NOT clock_skew AND (history = 'observed' OR (history = 'right_censored' AND is_open))
  GROUP BY partition, group_id
),
states AS (
  SELECT group_state.*, stuck.health, stuck.stuck_since, stuck.stuck_ms, stuck.stuck_history
  FROM group_state
  JOIN stuck_now AS stuck ON group_state.partition = stuck.partition AND group_state.group_id = stuck.group_id
)
SELECT every.partition, every.group_id, every.incarnations, every.group_type, protocols.protocol_type,
  coalesce(states.state, 'deleted') AS state, ranked.health, ranked.rank, ranked.harm,
  failing.pattern, failing.severity, failing.count, failing.at_least, unix_millis(failing.first_seen) AS first_ms,
  failing.subject, failing.sentence, failing.next_step,
  unix_millis(CASE WHEN states.health = 'stuck' THEN states.stuck_since ELSE states.since END) AS since_ms,
  CASE WHEN states.health = 'stuck' THEN states.stuck_history ELSE states.history END AS history,
  states.stuck_ms, failing.failing_ms, unix_millis(states.since) AS state_since_ms, unix_millis(protocols.completed_at) AS completed_ms,
  states.offset AS at_offset, states.group_epoch, states.assignment_epoch,
  unix_millis(captures.captured_at) AS captured_ms,
  states.generation, states.topology_epoch, states.validated_topology_epoch, states.members, states.converged_members,
  states.upgradable, states.upgradable_reason, states.blocker, ms_between(states.blocker.since, captures.captured_at) AS blocked_ms,
  coalesce(busiest.rebalances, 0) AS rebalances, coalesce(busiest.peak_per_hour, 0) AS peak_per_hour,
  ranked.slowest_ms, coalesce(idle.idle_ms, 0) AS idle_ms, ranked.intervals,
  coalesce(waits.waiting, 0) AS waiting
FROM every
JOIN ranked ON every.partition = ranked.partition AND every.group_id = ranked.group_id
LEFT JOIN troubles_now AS failing ON every.partition = failing.partition AND every.group_id = failing.group_id
  AND failing.nth = 1
LEFT JOIN states ON every.partition = states.partition AND every.group_id = states.group_id
LEFT JOIN captures ON every.partition = captures.partition
LEFT JOIN busiest ON every.partition = busiest.partition AND every.group_id = busiest.group_id
LEFT JOIN waiting_now AS waits ON states.partition = waits.partition AND states.group_id = waits.group_id
  AND states.incarnation = waits.incarnation
LEFT JOIN protocols ON every.partition = protocols.partition AND every.group_id = protocols.group_id
LEFT JOIN idle ON every.partition = idle.partition AND every.group_id = idle.group_id
ORDER BY ranked.rank, ranked.harm DESC, ranked.since, every.group_id, every.partition
LIMIT :groups
