-- One row and a sentence per open rebalance, in the words of report.advice: its first blocker that is still a member and
-- not reconciled. member_id is null where no single member blocks it.
WITH present AS (
    SELECT
        listed.*, states.state, states.duration_ms AS state_ms, states.is_classic, stays.rebalance_timeout_ms,
        row_number() OVER (
            PARTITION BY listed.partition, listed.group_id, listed.began_offset
            ORDER BY blocker.late_ms DESC, blocker.blocked_ms DESC, blocker.member_id
        ) AS nth
    FROM (
        SELECT partition, group_id, incarnation, began_offset, explode(blockers) AS blocker
        FROM rebalance
        WHERE outcome = 'open' AND group_type <> 'classic'
    ) AS listed
    JOIN member_state_timeline AS states
        ON states.partition = listed.partition AND states.group_id = listed.group_id
        AND states.incarnation = listed.incarnation AND states.member_id = listed.blocker.member_id
        AND states.to_at IS NULL AND states.state <> 'reconciled'
    LEFT JOIN membership AS stays
        ON stays.partition = listed.partition AND stays.group_id = listed.group_id
        AND stays.incarnation = listed.incarnation AND stays.member_id = listed.blocker.member_id
        AND stays.left_offset IS NULL
), worst AS (
    SELECT
        partition, group_id, began_offset, state, is_classic, rebalance_timeout_ms, blocker.member_id AS member_id,
        blocker.late_ms AS late_ms, blocker.held_up AS held_up,
        coalesce(
            state_ms, CASE state WHEN 'revoking' THEN blocker.revoke_ms WHEN 'away' THEN blocker.away_ms ELSE blocker.late_ms END
        ) AS lasts_ms,
        concat_ws(
            ' @ ', nullif(blocker.client_id, ''), nullif(regexp_replace(blocker.client_host, '^/', ''), '')
        ) AS client,
        CASE WHEN blocker.instance_id IS NOT NULL THEN concat('instance ', blocker.instance_id) END AS instance
    FROM present
    WHERE nth = 1
)
SELECT
    open_.partition, open_.group_id, open_.began_offset,
    CASE WHEN NOT is_storm THEN member_id END AS member_id,
    CASE
        WHEN is_storm THEN concat(
            counted(epochs, epoch), ' followed each other before the group was stable',
            CASE WHEN size(causes) > 0 THEN concat(' (', replace(array_join(causes, ', '), '_', ' '), ')') ELSE '' END
        )
        WHEN member_id IS NOT NULL THEN concat(
            CASE
                WHEN client = '' THEN coalesce(instance, concat('member ', member_id))
                WHEN instance IS NULL THEN client
                ELSE concat(client, ' (', instance, ')')
            END,
            CASE
                WHEN is_classic AND state IN ('behind', 'revoking', 'unknown') THEN concat(
                    ' uses the classic protocol and has not rejoined with its new assignment', so_far(lasts_ms)
                )
                WHEN state = 'revoking' THEN concat(
                    ' has been asked to give up partitions', so_far(lasts_ms),
                    CASE WHEN rebalance_timeout_ms > 0 AND lasts_ms > rebalance_timeout_ms + 1e4
                        THEN concat(', beyond its rebalance timeout of ', duration(rebalance_timeout_ms))
                        ELSE ''
                    END
                )
                WHEN state = 'away' THEN concat(
                    ' is a static member that has been away', so_far(lasts_ms),
                    ' and keeps its partitions until its session expires'
                )
                WHEN state = 'waiting' THEN concat(
                    ' may take its awaited partitions, which are free, and has not done so', so_far(lasts_ms)
                )
                ELSE concat(' has not picked its new assignment up', so_far(lasts_ms))
            END,
            CASE
                WHEN held_up = 1 THEN '; 1 member waits for it'
                WHEN held_up > 1 THEN concat('; ', counted(held_up, member), ' wait for it')
                ELSE ''
            END
        )
        WHEN coalesce(not_ready_ms, 0) > coalesce(assigning_ms, 0) THEN concat(
            'The broker has not validated the topology; the group was NotReady', lasting(not_ready_ms),
            ' in this rebalance'
        )
        WHEN assigning_ms > 0 THEN concat(
            'The group waits for a new target assignment; it has waited', lasting(assigning_ms), ' in this rebalance'
        )
        ELSE 'The log does not show which member it waits for'
    END AS sentence
FROM (
    SELECT
        rebalance.*, worst.member_id, worst.state, worst.is_classic, worst.rebalance_timeout_ms, worst.held_up,
        worst.lasts_ms, worst.client, worst.instance,
        epochs >= 10 AND 2e0 * coalesce(worst.late_ms, 0) < coalesce(duration_ms, 0) AS is_storm
    FROM rebalance
    LEFT JOIN worst
        ON worst.partition = rebalance.partition AND worst.group_id = rebalance.group_id
        AND worst.began_offset = rebalance.began_offset
    WHERE outcome = 'open' AND group_type <> 'classic'
) AS open_
