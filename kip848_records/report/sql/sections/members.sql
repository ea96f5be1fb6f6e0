-- The members of the group. is_present: it is one at capture; then also what it does, and what it waits for.
SELECT stays.partition, stays.group_id, stays.incarnation, stays.group_type, stays.member_id, stays.instance_id,
  stays.client_id, stays.client_host, stays.rebalance_timeout_ms, unix_millis(joined_at) AS joined_at_ms, joined_how,
  unix_millis(left_at) AS left_at_ms, left_how, returned, coalesce(joined_offset, left_offset) AS at_offset,
  left_offset IS NULL AS is_present, states.state, states.member_epoch, states.is_classic,
  ms_between(lags.behind_since, captures.captured_at) AS behind_ms, lags.awaited, lags.blocked_by AS waits_for
FROM membership AS stays
JOIN chosen ON stays.partition = chosen.partition AND stays.group_id = chosen.group_id
LEFT JOIN member_state_timeline AS states ON stays.partition = states.partition AND stays.group_id = states.group_id
  AND stays.incarnation = states.incarnation AND stays.group_type = states.group_type AND stays.member_id = states.member_id
  AND stays.left_offset IS NULL AND states.to_at IS NULL
LEFT JOIN rebalance_lag AS lags ON stays.partition = lags.partition AND stays.group_id = lags.group_id
  AND stays.incarnation = lags.incarnation AND stays.member_id = lags.member_id AND stays.left_offset IS NULL
  AND lags.status = 'open' AND NOT lags.superseded
LEFT JOIN captures ON captures.partition = stays.partition
