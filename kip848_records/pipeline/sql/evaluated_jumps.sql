{# The jumps with the causes of losses. A tombstone of the group in the same batch has the same time.

   When a topic is deleted, the coordinators of all groups remove its commits within seconds: so a topic of which a group
   keeps a commit, or commits one later under the same id, was not deleted. A time for which a key of a topic has a commit
   is one `life`: it keeps the topic at each moment from its first commit up to `together_ms` before its tombstone, or
   before the end of what is known of its partition. Ids that differ are of different topics; a commit without an id may
   be of any of the name.

   Members of any group that go on to own partitions of the topic show that it is there, too: of the same id at any time
   behind the loss, else without a break over it, and for longer than clients take to hear that a topic is gone. Not if
   owned partitions of the topic lost their offsets at that time: only its deletion does that.

   While a member owns a partition of a topic, its group subscribes to it, and neither age nor a tool removes a commit. A
   commit with a retention of its own is evaluated by that alone. `assumed_ms`: the retention of the brokers, if it is assumed
   because it is not known: all other ages are evaluated by it. In a classic group without members, offsets age from the
   time on at which it became Empty. #}
WITH found AS (
    SELECT jumps.*, ended.group_id IS NOT NULL AS has_ended
    FROM {jumps} AS jumps
    LEFT JOIN (
        SELECT DISTINCT tombstones.partition, tombstones.group_id, tombstones.timestamp FROM {tombstones} AS tombstones
    ) AS ended
        ON ended.partition = jumps.offsets_partition AND ended.group_id = jumps.group_id
        AND ended.timestamp = jumps.jumped_at
), lost AS (
    SELECT found.*, unix_millis(found.jumped_at) AS at_ms
    FROM found
    WHERE found.kind = 'lost' AND NOT found.has_ended
), lives AS (
    SELECT
        life.topic, coalesce(max_by(life.topic_id, life.of_id), '') AS topic_id, min(life.value_ms) AS from_ms,
        greatest(
            min(life.value_ms),
            coalesce(max(life.removed_ms), unix_millis(max(known.captured_at))) - {{ together_ms }}
        ) AS until_ms
    FROM (
        SELECT
            commits.partition, commits.group_id, commits.topic, commits.topic_partition, commits.topic_id,
            CASE WHEN commits.topic_id <> '{{ no_uuid }}' THEN commits.offset END AS of_id,
            CASE WHEN commits.committed IS NOT NULL THEN unix_millis(commits.timestamp) END AS value_ms,
            CASE WHEN commits.committed IS NULL THEN unix_millis(commits.timestamp) END AS removed_ms,
            sum(CASE WHEN commits.committed IS NULL THEN 1 ELSE 0 END) OVER (
                PARTITION BY commits.partition, commits.group_id, commits.topic, commits.topic_partition
                ORDER BY commits.offset ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) - CASE WHEN commits.committed IS NULL THEN 1 ELSE 0 END AS nth
        FROM {commits} AS commits
        SEMI JOIN lost ON lost.topic = commits.topic
        WHERE commits.error_code IS NULL AND commits.transaction <> 'pending'
    ) AS life
    LEFT JOIN {captured} AS known ON known.partition = life.partition
    GROUP BY life.partition, life.group_id, life.topic, life.topic_partition, life.nth
    HAVING count(life.value_ms) > 0
), last_lives AS (
    SELECT lives.topic, lives.topic_id, max(lives.from_ms) AS from_ms
    FROM lives
    WHERE lives.topic_id <> ''
    GROUP BY lives.topic, lives.topic_id
), events AS (
    SELECT lives.topic, lives.topic_id, lives.from_ms AS at_ms, 1 AS step, 0 AS is_loss,
        CAST(NULL AS int) AS offsets_partition, CAST(NULL AS bigint) AS offset
    FROM lives
    WHERE lives.until_ms IS NOT NULL
    UNION ALL
    SELECT ends.topic, ends.topic_id, ends.until_ms, -1, 0, CAST(NULL AS int), CAST(NULL AS bigint)
    FROM lives AS ends
    WHERE ends.until_ms IS NOT NULL
    UNION ALL
    SELECT lost.topic, coalesce(lost.topic_id, ''), lost.at_ms, 0, 1, lost.offsets_partition, lost.offset FROM lost
), kept AS (
    SELECT
        events.offsets_partition, events.offset, events.is_loss,
        CASE WHEN events.topic_id = '' THEN sum(events.step) OVER of_topic
            ELSE sum(events.step) OVER of_id + sum(CASE WHEN events.topic_id = '' THEN events.step ELSE 0 END) OVER of_topic
        END AS lives
    FROM events
    WINDOW
        of_topic AS (
            PARTITION BY events.topic ORDER BY events.at_ms, events.is_loss
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ),
        of_id AS (
            PARTITION BY events.topic, events.topic_id ORDER BY events.at_ms, events.is_loss
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        )
), evidence AS (
    SELECT
        lost.offsets_partition, lost.offset,
        max(CASE WHEN kept.lives > 0 OR (later.topic_id = lost.topic_id AND later.from_ms > lost.at_ms) THEN 1 ELSE 0 END)
            AS is_kept,
        max(CASE WHEN later.topic_id <> lost.topic_id AND later.from_ms > lost.at_ms THEN 1 ELSE 0 END) AS is_made_anew
    FROM lost
    JOIN kept
        ON kept.is_loss = 1 AND kept.offsets_partition = lost.offsets_partition AND kept.offset = lost.offset
    LEFT JOIN last_lives AS later ON later.topic = lost.topic
    GROUP BY lost.offsets_partition, lost.offset
), owned AS (
    SELECT DISTINCT
        stays.topic, stays.topic_id, unix_millis(stays.acquired_at) AS from_ms,
        coalesce(unix_millis(stays.released_at), unix_millis(known.captured_at)) AS until_ms
    FROM {stays} AS stays
    SEMI JOIN lost ON lost.topic = stays.topic
    LEFT JOIN {captured} AS known ON known.partition = stays.offsets_partition
), held AS (
    SELECT DISTINCT lost.offsets_partition, lost.offset
    FROM lost
    JOIN owned ON owned.topic = lost.topic
    WHERE CASE
        WHEN owned.topic_id = lost.topic_id THEN owned.until_ms > lost.at_ms + {{ together_ms }}
        WHEN owned.topic_id IS NULL OR lost.topic_id IS NULL
            THEN owned.from_ms <= lost.at_ms AND owned.until_ms >= lost.at_ms + {{ refreshed_ms }}
    END
), compared AS (
    SELECT
        lost.offsets_partition, lost.offset,
        max(CASE WHEN lost.context IN ('same_owner', 'owner_change', 'first_owner') THEN 1 ELSE 0 END) OVER together
            AS is_owned_by_any,
        min(lost.group_id) OVER together <> max(lost.group_id) OVER together AS is_of_many,
        max(CASE WHEN lost.context IN ('same_owner', 'owner_change', 'first_owner') THEN 1 ELSE 0 END) OVER at_once
            AS is_owned
    FROM lost
    WINDOW
        together AS (
            PARTITION BY lost.topic ORDER BY lost.at_ms
            RANGE BETWEEN {{ together_ms }} PRECEDING AND {{ together_ms }} FOLLOWING
        ),
        at_once AS (PARTITION BY lost.offsets_partition, lost.group_id, lost.topic, lost.jumped_at)
), evaluated AS (
    SELECT
        found.*,
        evidence.is_kept = 1
            OR (held.offset IS NOT NULL AND compared.is_owned_by_any = 0 AND evidence.is_made_anew = 0) AS is_kept,
        evidence.is_made_anew = 1 OR compared.is_of_many AS is_gone,
        compared.is_owned = 1 AS is_owned,
        CASE WHEN found.retention_ms IS NOT NULL THEN found.has_expired ELSE {{ is_old }} END AS is_old
    FROM found
    LEFT JOIN evidence ON evidence.offsets_partition = found.offsets_partition AND evidence.offset = found.offset
    LEFT JOIN compared ON compared.offsets_partition = found.offsets_partition AND compared.offset = found.offset
    LEFT JOIN held ON held.offsets_partition = found.offsets_partition AND held.offset = found.offset
)
SELECT
    jumps.group_id, jumps.incarnation, jumps.group_type, jumps.offsets_partition, jumps.topic, jumps.partition,
    jumps.offset, jumps.jumped_at, jumps.kind, jumps.context, jumps.before_offset, jumps.after_offset, jumps.amount,
    jumps.member_id, jumps.previous_member_id, jumps.is_transactional, jumps.recovered_at, jumps.age_ms,
    jumps.retention_ms, jumps.after_removal,
    CASE
        WHEN jumps.kind = 'lost' AND jumps.retention_ms IS NULL AND (jumps.has_ended OR NOT jumps.is_owned)
            THEN CAST({{ assumed_ms }} AS bigint)
    END AS assumed_retention_ms,
    CASE
        WHEN jumps.kind <> 'lost' THEN NULL
        WHEN jumps.has_ended THEN CASE WHEN jumps.is_old THEN 'group_expired' ELSE 'group_deleted' END
        WHEN jumps.retention_ms IS NOT NULL AND jumps.is_old THEN 'expired'
        WHEN jumps.is_owned AND NOT jumps.is_kept THEN 'topic_deleted'
        WHEN jumps.is_gone AND NOT jumps.is_kept AND jumps.is_old THEN 'expired_or_topic_deleted'
        WHEN jumps.is_gone AND NOT jumps.is_kept THEN 'topic_deleted'
        WHEN jumps.is_old AND NOT jumps.is_owned THEN 'expired'
        WHEN jumps.is_kept THEN 'deleted'
        ELSE 'deleted_or_topic_deleted'
    END AS cause
FROM evaluated AS jumps
