-- Each time a member got a partition that another, or the same one, had before in this incarnation of the group, with
-- what both committed. committed_offset: where the new owner began, committed_age_ms old when it got the partition.
-- offset_step: from there to the first offset that it committed. quiet_ms: from the last commit of the owner before,
-- of any partition, to its release. repeat_at_most: an estimate of how many offsets were read by both, from the pace
-- of the last 20 advances of the owner before; null if there were fewer than two. It fails if commits do not cover
-- what was read. ended_uncommitted: the owner before was quiet for longer than it ever is between two commits, a sign
-- of a crash.
SELECT
    group_id, incarnation, group_type, offsets_partition, topic, partition, from_member, member_id, released_at,
    released_offset, acquired_at, acquired_offset, committed_offset, committed_age_ms, first_commit_at,
    first_commit_offset,
    CASE WHEN first_commit_offset >= 0 AND committed_offset >= 0 THEN first_commit_offset - committed_offset END
        AS offset_step,
    quiet_ms, member_rhythm_ms,
    CASE WHEN repeated < CAST(9e18 AS double) THEN CAST(ceil(repeated) AS bigint) END AS repeat_at_most,
    quiet_ms > usual_quiet_ms AS ended_uncommitted
FROM (
    SELECT
        *, CAST(1.5 AS double) * member_rhythm_ms AS usual_quiet_ms,
        CASE WHEN recent_ms > 0 AND quiet_ms >= 0 THEN
            CAST(recent_advanced AS double)
            * least(CAST(quiet_ms AS double), CAST(1.5 AS double) * member_rhythm_ms) / CAST(recent_ms AS double)
        END AS repeated
    FROM (
        SELECT
            group_id, incarnation, group_type, offsets_partition, topic, partition, member_id, acquired_at,
            acquired_offset, start_offset AS committed_offset, start_age_ms AS committed_age_ms, first_commit_at,
            first_offset AS first_commit_offset,
            lag(member_id) OVER stays AS from_member, lag(released_at) OVER stays AS released_at,
            lag(released_offset) OVER stays AS released_offset, lag(quiet_ms) OVER stays AS quiet_ms,
            lag(member_rhythm_ms) OVER stays AS member_rhythm_ms, lag(recent_advanced) OVER stays AS recent_advanced,
            lag(recent_ms) OVER stays AS recent_ms
        FROM commit_progress
        WHERE owner = 'member'
        WINDOW stays AS (
            PARTITION BY group_id, incarnation, offsets_partition, topic, partition ORDER BY acquired_offset
        )
    ) AS stays_in_order
    WHERE from_member IS NOT NULL
) AS handed_over
