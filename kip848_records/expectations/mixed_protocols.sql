-- name = "mixed_protocols"
-- sentence = "A group does not mix members of the classic and the consumer protocol for longer than max_seconds"
-- severity = "warn"
-- needs = []
-- about = "group with members of both protocols"
-- [limits.max_seconds]
-- default = 86400
-- unit = "seconds"
-- reason = "A day. An upgrade is a rolling restart."

-- An upgrade ends when its last member has been restarted. Without a member of the classic protocol, a group is not mixed.
-- If the last consumer member leaves while the policy forbids a downgrade, it stays a consumer group of classic members: no
-- event ends that but a consumer that joins, so it counts too.
WITH upgrading AS (
    SELECT DISTINCT partition, group_id, incarnation FROM member_state_timeline WHERE is_classic
), ordered AS (
    SELECT
        intervals.*,
        lag(is_classic) OVER (
            PARTITION BY partition, group_id, incarnation, group_type, member_id, joined_offset, left_offset, left_at
            ORDER BY from_offset
        ) AS before
    FROM upgrading JOIN intervals USING (partition, group_id, incarnation)
), changes AS (
    SELECT
        partition, group_id, incarnation, member_id, history, has_losses, from_at AS at_,
        CASE WHEN before IS NULL THEN coalesce(joined_offset, from_offset) ELSE from_offset END AS place,
        CASE WHEN is_classic THEN 1 ELSE 0 END - CASE WHEN before THEN 1 ELSE 0 END AS classic,
        CASE WHEN NOT is_classic THEN 1 ELSE 0 END - CASE WHEN NOT before THEN 1 ELSE 0 END AS native
    FROM ordered
    UNION ALL
    SELECT
        partition, group_id, incarnation, member_id, max_by(history, from_offset), bool_or(has_losses), left_at,
        left_offset,
        CASE WHEN max_by(is_classic, from_offset) THEN -1 ELSE 0 END,
        CASE WHEN NOT max_by(is_classic, from_offset) THEN -1 ELSE 0 END
    FROM upgrading JOIN intervals USING (partition, group_id, incarnation)
    WHERE left_offset IS NOT NULL
    GROUP BY partition, group_id, incarnation, group_type, member_id, joined_offset, left_offset, left_at
), counts AS (
    SELECT
        partition, group_id, incarnation, member_id, history, has_losses, at_, place,
        sum(classic) OVER (PARTITION BY partition, group_id, incarnation ORDER BY place) AS classic,
        sum(native) OVER (PARTITION BY partition, group_id, incarnation ORDER BY place) AS native,
        lead(at_) OVER (PARTITION BY partition, group_id, incarnation ORDER BY place) AS next_at
    FROM changes
    WHERE classic <> 0 OR native <> 0
), outcomes AS (
    SELECT
        counts.*, classic > 0 AND max(native) OVER (
            PARTITION BY partition, group_id, incarnation ORDER BY place
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) > 0 AS is_mixed
    FROM counts
    WHERE NOT coalesce(next_at = at_, false)
), mixes AS (
    SELECT
        outcomes.*, lag(is_mixed) OVER (PARTITION BY partition, group_id, incarnation ORDER BY place) AS was_mixed
    FROM outcomes
), periods AS (
    SELECT
        mixes.*, lead(at_) OVER (PARTITION BY partition, group_id, incarnation ORDER BY place) AS to_at
    FROM mixes
    WHERE is_mixed IS DISTINCT FROM was_mixed
), timed AS (
    SELECT
        periods.*, limits.max_seconds_text, lasted_ms(at_, coalesce(to_at, captures.captured_at)) AS lasted,
        history IN ('observed', 'right_censored') AS is_complete,
        lasted_ms(at_, coalesce(to_at, captures.captured_at)) > limits.max_seconds * 1000 AS is_long
    FROM periods
    JOIN limits ON limits.group_id = periods.group_id
    LEFT JOIN captures ON captures.partition = periods.partition
    WHERE is_mixed
)
SELECT
    verdict(is_long, is_complete OR (is_long AND NOT has_losses)) AS verdict,
    group_id, CAST(NULL AS int) AS group_epoch, member_id, partition, place AS offset,
    lasted AS lasts_ms,
    concat(
        'expected one protocol after ', max_seconds_text, ', ',
        CASE WHEN to_at IS NULL THEN 'has had' ELSE 'had' END, ' both for ', span(lasted), ' (',
        text(classic), ' classic and ', text(native), ' consumer members at first)'
    ) AS message
FROM timed
