-- What the commits of each owned partition show at capture: is it consumed? KIP-848 has no rule for it; the states are
-- this project's (docs/reference/tables.md, commit_progress, has the facts).
-- A partition stands still if its committed offset has not moved for need_ms: min_silence_ms, three times the longest time
-- between its advances ever (or from its acquisition to the first commit), and three times its owner's rhythm, whichever
-- is longest. min_silence_ms is the owner's rebalance timeout (a member that works longer on a batch leaves the group),
-- unless the audit or the check sets another one. Only blocked_by_transaction and suspected say that something is wrong.
-- Messages wait (waits_since) if another group's owner committed a higher offset, or the topic was seen to end behind it. One
-- look at the end (end_offset) just before the capture does not say for how long: messages_wait. lag: from the committed
-- offset, or where the topic's log begins, to the end. is_committing: its owner goes on to commit this partition.
-- unnamed_topic: only its id is known, and commits name topics: a file of names (--topics) tells more.
-- negative_offset: the last commit is negative, which clients take for no offset: it is not committed, and nothing is known.
WITH
  pending AS (
    SELECT offsets_partition, each.group_id AS group_id, each.topic AS topic, each.partition AS partition,
      min(first_at) AS pending_since, min(producer_id) AS producer_id
    FROM (
      SELECT offsets_partition, first_at, producer_id, explode(keys) AS each FROM open_transaction
    ) AS exploded
    GROUP BY offsets_partition, each.group_id, each.topic, each.partition
  ),
  history AS (
    SELECT offsets_partition, group_id, incarnation, topic, partition,
      -- The first commit says how long its client may take, too.
      max(greatest(longest_step_ms, unix_millis(first_commit_at) - unix_millis(acquired_at))) AS longest_step_ms
    FROM commit_progress
    GROUP BY offsets_partition, group_id, incarnation, topic, partition
  ),
  of_group AS (
    SELECT offsets_partition, group_id, sum(CAST(commits AS double)) AS commits, count(start_offset) AS started
    FROM commit_progress
    GROUP BY offsets_partition, group_id
  ),
  silent AS (
    SELECT
      stays.offsets_partition, stays.group_id, stays.incarnation, stays.group_type, stays.topic, stays.partition,
      stays.member_id, stays.instance_id, stays.client_id, stays.acquired_at, stays.acquired_offset, stays.advances,
      stays.commits, stays.unchanged, stays.last_commit_at, stays.last_advance_at, stays.history, stays.is_unnamed, stays.behind_since,
      stays.ahead_by, stays.ahead_group, captures.captured_at, pending.pending_since, pending.producer_id,
      CASE WHEN NOT stays.is_negative THEN coalesce(stays.last_offset, stays.start_offset) END AS committed,
      CASE WHEN stays.is_negative THEN stays.negative_offset END AS negative_offset, ends.end_offset,
      ends.asked_at AS end_offsets_at,
      greatest(coalesce(stays.last_offset, stays.start_offset), coalesce(ends.start_offset, 0)) AS next_offset,
      ends.earlier_offset, ends.earlier_at,
      of_group.commits > 0 OR of_group.started > 0 AS group_commits,
      unix_millis(captures.captured_at)
        - unix_millis(coalesce(stays.last_advance_at, stays.first_commit_at, stays.acquired_at)) AS silent_ms,
      coalesce(least_silence.min_silence_ms, stays.min_silence_ms, stays.rebalance_timeout_ms, 300000)
        AS min_silence_ms,
      3 * least(coalesce(history.longest_step_ms, 0), 1000000000000000) AS steps_ms,
      3 * least(coalesce(stays.member_rhythm_ms, 0), 1000000000000000) AS rhythms_ms,
      3 * least(coalesce(stays.usual_ms, 0), 1000000000000000) AS usual_ms
    FROM (
      SELECT *, negative_from IS NOT NULL AND negative_until IS NULL AS is_negative FROM commit_progress
    ) AS stays
    JOIN captures ON captures.partition = stays.offsets_partition
    JOIN of_group ON of_group.offsets_partition = stays.offsets_partition AND of_group.group_id = stays.group_id
    LEFT JOIN history
      ON history.offsets_partition = stays.offsets_partition AND history.group_id = stays.group_id
      AND history.incarnation = stays.incarnation AND history.topic = stays.topic
      AND history.partition = stays.partition
    LEFT JOIN pending
      ON pending.offsets_partition = stays.offsets_partition AND pending.group_id = stays.group_id
      AND pending.topic = stays.topic AND pending.partition = stays.partition
    LEFT JOIN end_offset AS ends ON ends.topic = stays.topic AND ends.partition = stays.partition
    LEFT JOIN least_silence ON least_silence.group_id = stays.group_id
    WHERE stays.owner = 'member' AND stays.released_offset IS NULL
  ),
  waiting AS (
    SELECT
      silent.*, greatest(min_silence_ms, steps_ms, rhythms_ms) AS need_ms,
      -- Messages are there since another group committed a higher offset, or since the topic was seen to end behind it.
      CASE WHEN committed IS NOT NULL THEN
        least(
          behind_since,
          CASE
            WHEN earlier_offset > next_offset THEN earlier_at
            WHEN end_offset > next_offset AND end_offsets_at <= captured_at THEN end_offsets_at
          END
        )
      ELSE behind_since END AS waits_since
    FROM silent
  ),
  owned AS (
    SELECT
      waiting.*, unix_millis(captured_at) - unix_millis(waits_since) AS waits_ms,
      CASE WHEN committed IS NOT NULL AND end_offset >= next_offset THEN end_offset - next_offset END AS lag,
      coalesce(unix_millis(captured_at) - unix_millis(last_commit_at) <= need_ms / 2, false) AS is_committing
    FROM waiting
  ),
  of_members AS (
    SELECT
      owned.*,
      min(CASE WHEN advances >= 3 THEN silent_ms END)
        OVER (PARTITION BY offsets_partition, group_id, incarnation, member_id) AS member_silent_ms
    FROM owned
  ),
  marked AS (
    SELECT
      of_members.*,
      CASE WHEN advances >= 3 THEN 1 ELSE 0 END AS has_moved,
      -- A member that stops does so with all of its partitions, within their usual steps. Partitions that get no more
      -- messages stop one by one, bursts of a topic too: their longest steps would hide it.
      CASE
        WHEN advances >= 3 AND silent_ms >= need_ms AND silent_ms - member_silent_ms <= greatest(usual_ms, rhythms_ms)
          THEN 1
        ELSE 0
      END AS has_stopped,
      CASE WHEN advances > 0 AND silent_ms < need_ms THEN 1 ELSE 0 END AS goes_on
    FROM of_members
  ),
  compared AS (
    SELECT
      marked.*,
      sum(has_moved) OVER of_member AS member_moved,
      sum(has_stopped) OVER of_member AS member_stopped,
      -- In the same topic: where a topic stopped, a member that owns partitions of it alone has not.
      sum(goes_on) OVER of_topic - sum(goes_on) OVER of_member_and_topic AS others_go_on,
      sum(goes_on) OVER of_topic AS siblings_progressing
    FROM marked
    WINDOW
      of_member AS (PARTITION BY offsets_partition, group_id, incarnation, member_id),
      of_member_and_topic AS (PARTITION BY offsets_partition, group_id, incarnation, member_id, topic),
      of_topic AS (PARTITION BY offsets_partition, group_id, incarnation, topic)
  )
SELECT
  evaluated.*,
  CASE
    WHEN state <> 'suspected' THEN NULL WHEN waits_ms >= need_ms THEN 'messages_waiting' ELSE 'member_stopped'
  END AS evidence
FROM (
SELECT
  offsets_partition, group_id, incarnation, group_type, topic, partition, member_id, instance_id, client_id,
  acquired_at, acquired_offset, committed, last_commit_at, last_advance_at, silent_ms, min_silence_ms, need_ms,
  waits_since, waits_ms, behind_since, end_offset, lag, end_offsets_at, is_committing, ahead_by, ahead_group,
  siblings_progressing, pending_since, producer_id, captured_at, negative_offset,
  CASE
    WHEN is_unnamed THEN 'unnamed_topic'
    WHEN negative_offset IS NOT NULL THEN 'negative_offset'
    WHEN history IN ('left_censored', 'censored') AND advances = 0 THEN 'unknown'
    WHEN silent_ms IS NULL OR silent_ms < 0 THEN 'unknown'
    WHEN pending_since IS NOT NULL AND silent_ms >= min_silence_ms THEN 'blocked_by_transaction'
    WHEN silent_ms < need_ms AND advances = 0 THEN 'too_short'
    WHEN silent_ms < need_ms THEN 'progress'
    WHEN NOT group_commits THEN 'never_commits'
    WHEN waits_ms >= need_ms THEN 'suspected'
    WHEN end_offset < committed AND last_commit_at < end_offsets_at THEN 'committed_beyond_end'
    WHEN lag = 0 THEN 'caught_up'
    WHEN committed IS NULL THEN 'no_commit_yet'
    WHEN has_stopped = 1 AND member_moved >= 2 AND member_stopped = member_moved AND others_go_on > 0 THEN 'suspected'
    WHEN lag > 0 AND end_offsets_at <= captured_at THEN 'messages_wait'
    WHEN has_moved = 1 AND siblings_progressing > 0 THEN 'stopped_alone'
    WHEN has_moved = 1 THEN 'all_stopped'
    ELSE 'idle_or_not_consumed'
  END AS state
FROM compared
) AS evaluated
