-- Each group that is not of the new protocols, or has members of the classic one: whether it can move, what it would gain, and
-- how far it is. A group with offset commits only is one, if they were read.
-- verdict: online (converted while members are in it, if the broker's policy and its largest group size allow it); replaced
-- (Empty: the first member of another protocol makes a new group, commits stay); after_stop, streams_after_stop (once all
-- members have left; an Empty application of Kafka Streams too, as it needs a release of brokers that is not in the log);
-- not_a_consumer (no other protocol exists, Empty or not: a consumer would only take the id); unloadable; mixed (members of both protocols); only_classic (a
-- consumer group in which all members use the classic protocol); unknown (its last record is lost or unreadable).
-- has_common_protocol: whether the classic members of a consumer group have an assignor in common; null: not known, or another group.
-- can_move: it can move now, or is half-way; null for unknown.
-- The numbers of rebalances are those of the present incarnation as a classic group: neither the first assignment, nor what
-- emptied it. per_hour is null if fewer than 10 minutes were observed.
WITH counted AS (
    SELECT
        partition, group_id, count_if(is_classic) AS classic_members, count_if(NOT is_classic) AS consumer_members,
        count_if(is_classic AND instance_id IS NOT NULL) AS static_members, max(joined_at) AS last_joined_at,
        max(CASE WHEN is_classic THEN rebalance_timeout_ms END) AS rebalance_timeout_ms,
        min(CASE WHEN is_classic THEN session_timeout_ms END) AS least_session_timeout_ms,
        max(CASE WHEN is_classic THEN session_timeout_ms END) AS session_timeout_ms,
        max(CASE WHEN subscription_error IS NOT NULL THEN 1 ELSE 0 END) AS malformed
    FROM members_by_protocol
    GROUP BY partition, group_id
), generations AS (
    SELECT
        partition, group_id, incarnation, max_by(protocol, generation) AS protocol,
        max_by(mode, CASE WHEN mode <> 'unknown' THEN generation ELSE -1 END) AS mode
    FROM classic_generation
    WHERE protocol IS NOT NULL
    GROUP BY partition, group_id, incarnation
), observed AS (
    SELECT
        partition, group_id, incarnation, CAST(sum(greatest(coalesce(duration_ms, 0), 0)) AS double) AS observed_ms
    FROM group_state_timeline
    WHERE group_type = 'classic'
    GROUP BY partition, group_id, incarnation
), stops AS (
    SELECT
        partition, group_id, incarnation, count(*) AS rebalances, CAST(sum(partitions_stopped) AS bigint) AS stopped,
        max(CASE WHEN history = 'observed' AND partitions_stopped IS NOT NULL THEN 0 ELSE 1 END) = 1 AS is_minimum,
        whole(sum(CAST(unowned_ms AS double))) AS unowned_ms, max(members) AS members
    FROM rebalance
    WHERE group_type = 'classic' AND outcome = 'converged' AND NOT coalesce(started_empty, true)
    GROUP BY partition, group_id, incarnation
), estimated AS (
    SELECT
        offsets_partition AS partition, group_id, incarnation, count(*) AS known,
        whole(percentile(stop_max_ms, 0.95)) AS stop_max_p95_ms
    FROM consumption_stop
    WHERE group_type = 'classic' AND kind <> 'revoked' AND history = 'observed' AND NOT is_idle
    GROUP BY offsets_partition, group_id, incarnation
), troubled AS (
    SELECT partition, group_id, incarnation, array_join(array_sort(collect_set(pattern)), ', ') AS patterns
    FROM diagnosis
    WHERE pattern IN ('storm', 'restart_loop', 'leaves_and_returns', 'rolling_restart') AND group_id IS NOT NULL
    GROUP BY partition, group_id, incarnation
), upgrades AS (
    SELECT partition, group_id, incarnation, max(`at`) AS mixed_since
    FROM group_migration
    WHERE direction = 'upgrade' AND mixed_until IS NULL
    GROUP BY partition, group_id, incarnation
), bugs AS (
    SELECT partition, group_id, array_join(array_sort(collect_set(bug)), ', ') AS known_bugs
    FROM refused_record
    WHERE bug IS NOT NULL
    GROUP BY partition, group_id
), evaluated AS (
    SELECT
        states.partition, states.group_id, states.incarnation, states.group_type, states.state, states.offset,
        states.captured_at, states.history, states.upgradable_reason, states.generation,
        CASE
            WHEN states.group_type = 'simple' THEN 'commits_only'
            WHEN coalesce(states.protocol, generations.protocol) = 'stream' THEN 'streams_application'
            WHEN states.protocol_type = 'connect' OR states.protocol_type = 'consumer' THEN states.protocol_type
            WHEN states.group_type = 'consumer' OR (states.protocol_type IS NULL AND states.members = 0) THEN 'consumer'
            ELSE 'other'
        END AS kind,
        CASE
            WHEN states.group_type = 'consumer' AND counted.consumer_members > 0 THEN 'mixed'
            WHEN states.group_type = 'consumer' THEN 'only_classic'
            WHEN states.group_type = 'simple' THEN 'replaced'
            WHEN states.upgradable_reason LIKE '%duplicate_%' THEN 'unloadable'
            WHEN states.upgradable_reason LIKE '%protocol_type%' THEN 'not_a_consumer'
            WHEN states.upgradable_reason LIKE '%streams_application%' THEN 'streams_after_stop'
            WHEN states.upgradable_reason IS NOT NULL THEN 'after_stop'
            WHEN states.upgradable IS NULL THEN 'unknown'
            WHEN coalesce(states.protocol, generations.protocol) = 'stream' THEN 'streams_after_stop'
            WHEN states.protocol_type NOT IN ('', 'consumer') THEN 'not_a_consumer'
            WHEN states.members = 0 THEN 'replaced'
            ELSE 'online'
        END AS verdict,
        coalesce(states.protocol, generations.protocol) AS protocol, generations.mode, states.members,
        coalesce(counted.classic_members, 0) AS classic_members, coalesce(counted.consumer_members, 0) AS consumer_members,
        coalesce(counted.static_members, 0) AS static_members, counted.last_joined_at, counted.rebalance_timeout_ms,
        counted.least_session_timeout_ms, counted.session_timeout_ms, coalesce(counted.malformed, 0) = 1 AS is_malformed
    FROM group_state AS states
    LEFT JOIN counted ON counted.partition = states.partition AND counted.group_id = states.group_id
    LEFT JOIN generations
        ON generations.partition = states.partition AND generations.group_id = states.group_id
        AND generations.incarnation = states.incarnation
    WHERE states.group_type IN ('classic', 'simple') OR (states.group_type = 'consumer' AND counted.classic_members > 0)
)
SELECT
    evaluated.partition, evaluated.group_id, evaluated.incarnation, evaluated.group_type, evaluated.kind, evaluated.state, evaluated.verdict,
    CASE evaluated.verdict
        WHEN 'online' THEN 'can move now, while members run'
        WHEN 'replaced' THEN 'Empty: the first member of the new protocol makes a new group, commits stay'
        WHEN 'after_stop' THEN 'can move once all members have stopped'
        WHEN 'streams_after_stop'
            THEN concat('Kafka Streams: can move once all members have stopped, on brokers from ', fixed_in(KAFKA-20254), ' on')
        WHEN 'not_a_consumer' THEN 'no other protocol exists, as for Kafka Connect'
        WHEN 'unloadable' THEN 'no broker can load its record'
        WHEN 'unknown' THEN 'its last record is lost or unreadable'
        WHEN 'mixed' THEN 'half-way: members of both protocols'
        WHEN 'only_classic' THEN 'a consumer group in which all members use the classic protocol'
    END AS meaning,
    CASE WHEN evaluated.verdict <> 'unknown'
        THEN evaluated.verdict IN ('online', 'replaced', 'mixed', 'only_classic')
    END AS can_move, evaluated.upgradable_reason AS reasons, evaluated.members,
    CASE WHEN evaluated.verdict = 'online' THEN evaluated.members + 1 END AS size_needed, evaluated.static_members,
    evaluated.classic_members, evaluated.consumer_members, evaluated.protocol,
    CASE
        WHEN evaluated.kind <> 'consumer' OR evaluated.protocol IS NULL THEN NULL
        WHEN evaluated.protocol = 'range' THEN 'range'
        WHEN evaluated.protocol IN ('sticky', 'cooperative-sticky', 'roundrobin') THEN 'uniform'
        ELSE 'none'
    END AS assignor_note,
    evaluated.mode, coalesce(stops.rebalances, 0) AS rebalances,
    CASE WHEN observed.observed_ms >= 600000
        THEN round(coalesce(stops.rebalances, 0) * 3.6e6 / observed.observed_ms, 3)
    END AS rebalances_per_hour,
    stops.stopped AS partitions_stopped, coalesce(stops.is_minimum, false) AS is_minimum, stops.unowned_ms,
    estimated.stop_max_p95_ms, estimated.known AS stops_known, troubled.patterns AS troubles, upgrades.mixed_since,
    evaluated.last_joined_at, evaluated.verdict = 'mixed' AND evaluated.consumer_members = 1 AS has_last_consumer,
    CASE WHEN shared.most < shared.known THEN false WHEN shared.known = shared.members THEN true END AS has_common_protocol,
    evaluated.rebalance_timeout_ms, evaluated.least_session_timeout_ms, evaluated.session_timeout_ms,
    CASE WHEN evaluated.is_malformed THEN concat_ws(', ', 'KAFKA-20662', bugs.known_bugs) ELSE bugs.known_bugs END AS known_bugs,
    evaluated.offset, evaluated.captured_at, evaluated.history
FROM evaluated
LEFT JOIN observed
    ON observed.partition = evaluated.partition AND observed.group_id = evaluated.group_id
    AND observed.incarnation = evaluated.incarnation
LEFT JOIN stops
    ON stops.partition = evaluated.partition AND stops.group_id = evaluated.group_id AND stops.incarnation = evaluated.incarnation
LEFT JOIN estimated
    ON estimated.partition = evaluated.partition AND estimated.group_id = evaluated.group_id
    AND estimated.incarnation = evaluated.incarnation
LEFT JOIN troubled
    ON troubled.partition = evaluated.partition AND troubled.group_id = evaluated.group_id
    AND troubled.incarnation = evaluated.incarnation
LEFT JOIN upgrades
    ON upgrades.partition = evaluated.partition AND upgrades.group_id = evaluated.group_id
    AND upgrades.incarnation = evaluated.incarnation
LEFT JOIN bugs ON bugs.partition = evaluated.partition AND bugs.group_id = evaluated.group_id
LEFT JOIN common_protocols AS shared ON shared.partition = evaluated.partition AND shared.group_id = evaluated.group_id
