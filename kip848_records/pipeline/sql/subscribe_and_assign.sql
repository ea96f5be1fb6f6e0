{# Topics that a client without a member id committed again and again while the group had no members, until the first member
   joined, and that nobody commits since: Kafka refuses such commits while the group has members. One row a partition, and
   for each such time with members (`from_ms`, `until_ms`: null while it lasts). Times are in ms; `usual_ms`: from one commit
   to the next. Topics to which these members subscribe, or which they own, are left out: who is idle commits nothing. #}
WITH candidates AS (
    SELECT stays.offsets_partition AS partition, stays.group_id, stays.topic
    FROM {commit_progress} AS stays
    WHERE stays.owner IN ('simple', 'no_members') AND stays.history = 'right_censored'
    GROUP BY stays.offsets_partition, stays.group_id, stays.topic
    HAVING sum(stays.commits) >= {{ fewest }}
), groups AS (
    SELECT DISTINCT candidates.partition, candidates.group_id FROM candidates
), phases AS (
    SELECT
        states.partition, states.group_id, states.incarnation, states.from_offset, states.from_at, states.to_offset,
        states.to_at,
        CASE states.state WHEN 'Empty' THEN 0 WHEN 'unknown' THEN -1 ELSE 1 END AS phase
    FROM {group_state_timeline} AS states
    SEMI JOIN groups ON groups.partition = states.partition AND groups.group_id = states.group_id
    WHERE states.group_type <> 'simple'
), marked AS (
    SELECT
        phases.*,
        CASE
            WHEN lag(phases.phase) OVER (PARTITION BY phases.partition, phases.group_id ORDER BY phases.from_offset)
                = phases.phase THEN 0
            ELSE 1
        END AS is_new
    FROM phases
), numbered AS (
    SELECT
        marked.*,
        sum(marked.is_new) OVER (
            PARTITION BY marked.partition, marked.group_id ORDER BY marked.from_offset
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS nth
    FROM marked
), runs AS (
    SELECT
        numbered.partition, numbered.group_id, numbered.nth, max(numbered.phase) AS phase,
        max(numbered.incarnation) AS incarnation, min(numbered.from_offset) AS from_offset,
        min_by(unix_millis(numbered.from_at), numbered.from_offset) AS from_ms,
        CASE WHEN count(*) = count(numbered.to_offset) THEN max(numbered.to_offset) END AS until_offset,
        CASE WHEN count(*) = count(numbered.to_offset) THEN max(unix_millis(numbered.to_at)) END AS until_ms
    FROM numbered
    GROUP BY numbered.partition, numbered.group_id, numbered.nth
), turns AS (
    SELECT
        runs.*,
        coalesce(lag(runs.phase) OVER in_order, 0) AS phase_before,
        coalesce(lag(runs.from_offset) OVER in_order, CAST(-1 AS bigint)) AS before_from
    FROM runs
    WINDOW in_order AS (PARTITION BY runs.partition, runs.group_id ORDER BY runs.from_offset)
), periods AS (
    SELECT turns.*, unix_millis(known.captured_at) AS captured_ms
    FROM turns
    JOIN {captures} AS known ON known.partition = turns.partition
    WHERE turns.phase = 1 AND turns.phase_before = 0 AND turns.from_ms IS NOT NULL AND known.captured_at IS NOT NULL
), committed AS (
    SELECT
        commits.partition, commits.group_id, commits.topic, commits.topic_partition, commits.offset, commits.committed,
        unix_millis(commits.timestamp) AS at_ms
    FROM {commits} AS commits
    SEMI JOIN candidates
        ON candidates.partition = commits.partition AND candidates.group_id = commits.group_id
        AND candidates.topic = commits.topic
    WHERE commits.error_code IS NULL AND commits.transaction <> 'pending' AND commits.committed >= 0
), told AS (
    SELECT
        periods.partition, periods.group_id, periods.nth, periods.from_offset, periods.from_ms, periods.until_offset,
        periods.until_ms, periods.captured_ms, periods.incarnation, committed.topic, committed.topic_partition,
        committed.offset, committed.committed, committed.at_ms, committed.offset > periods.from_offset AS is_since
    FROM periods
    JOIN committed
        ON committed.partition = periods.partition AND committed.group_id = periods.group_id
        AND committed.offset > periods.before_from
        AND (periods.until_offset IS NULL OR committed.offset < periods.until_offset)
), steps AS (
    SELECT
        requests.*,
        requests.at_ms - lag(requests.at_ms) OVER (
            PARTITION BY requests.partition, requests.group_id, requests.nth, requests.topic ORDER BY requests.at_ms
        ) AS step_ms
    FROM (
        SELECT told.partition, told.group_id, told.nth, told.topic, told.at_ms, max(told.from_ms) AS from_ms,
            max(coalesce(told.until_ms, told.captured_ms)) AS end_ms
        FROM told
        WHERE NOT told.is_since
        GROUP BY told.partition, told.group_id, told.nth, told.topic, told.at_ms
    ) AS requests
), regular AS (
    SELECT
        steps.partition, steps.group_id, steps.nth, steps.topic, count(*) AS commits, min(steps.at_ms) AS first_ms,
        max(steps.at_ms) AS last_ms, CAST(round(percentile(steps.step_ms, 0.5)) AS bigint) AS usual_ms
    FROM steps
    GROUP BY steps.partition, steps.group_id, steps.nth, steps.topic
    HAVING count(*) >= {{ fewest }}
        AND max(steps.from_ms) - max(steps.at_ms) <= greatest(3 * percentile(steps.step_ms, 0.5), {{ least_ms }})
        AND max(steps.end_ms) - max(steps.from_ms) >= greatest(5 * percentile(steps.step_ms, 0.5), {{ least_ms }})
), present AS (
    SELECT
        periods.partition, periods.group_id, periods.nth, members.joined_offset, members.member_id, members.client_id,
        members.client_host, members.instance_id, members.topics, members.regex, members.group_type
    FROM periods
    JOIN {membership} AS members
        ON members.partition = periods.partition AND members.group_id = periods.group_id
        AND coalesce(members.left_offset > periods.from_offset, true)
        AND (periods.until_offset IS NULL OR coalesce(members.joined_offset < periods.until_offset, true))
), joined AS (
    SELECT
        present.partition, present.group_id, present.nth,
        min(coalesce(present.joined_offset, CAST(-1 AS bigint))) AS joined_offset
    FROM present
    GROUP BY present.partition, present.group_id, present.nth
    HAVING bool_and(
        present.topics IS NOT NULL OR coalesce(present.regex <> '', false) OR present.group_type = '{{ streams }}'
    )
), subscribed AS (
    SELECT present.partition, present.group_id, present.nth, explode(present.topics) AS topic FROM present
    UNION ALL
    SELECT present.partition, present.group_id, present.nth, resolved.topic
    FROM present
    JOIN (
        SELECT regexes.partition, regexes.group_id, regexes.regex, explode(regexes.topics) AS topic
        FROM {regex_resolution} AS regexes
    ) AS resolved
        ON resolved.partition = present.partition AND resolved.group_id = present.group_id
        AND resolved.regex = present.regex
    UNION ALL
    SELECT periods.partition, periods.group_id, periods.nth, stays.topic
    FROM periods
    JOIN {commit_progress} AS stays
        ON stays.offsets_partition = periods.partition AND stays.group_id = periods.group_id
        AND stays.owner = 'member' AND coalesce(stays.released_offset > periods.from_offset, true)
)
SELECT
    told.partition AS offsets_partition, told.group_id, max(told.incarnation) AS incarnation, told.nth, told.topic,
    told.topic_partition AS partition, max_by(told.committed, told.offset) AS committed,
    max(told.offset) AS last_offset, max(regular.commits) AS commits, max(regular.first_ms) AS first_ms,
    max(regular.last_ms) AS last_ms, max(regular.usual_ms) AS usual_ms, max(told.from_offset) AS from_offset,
    max(told.from_ms) AS from_ms, max(told.until_ms) AS until_ms, max(told.captured_ms) AS captured_ms,
    min(joiner.member_id) AS member_id,
    min_by(joiner.client_id, joiner.member_id) AS client_id,
    min_by(joiner.client_host, joiner.member_id) AS client_host,
    min_by(joiner.instance_id, joiner.member_id) AS instance_id,
    min_by(array_join(joiner.topics, ' '), joiner.member_id) AS subscribes,
    min_by(joiner.regex, joiner.member_id) AS regex
FROM told
JOIN regular
    ON regular.partition = told.partition AND regular.group_id = told.group_id AND regular.nth = told.nth
    AND regular.topic = told.topic
JOIN joined ON joined.partition = told.partition AND joined.group_id = told.group_id AND joined.nth = told.nth
JOIN present AS joiner
    ON joiner.partition = told.partition AND joiner.group_id = told.group_id AND joiner.nth = told.nth
    AND coalesce(joiner.joined_offset, CAST(-1 AS bigint)) = joined.joined_offset
LEFT JOIN (
    SELECT DISTINCT told.partition, told.group_id, told.nth, told.topic FROM told WHERE told.is_since
    UNION
    SELECT subscribed.partition, subscribed.group_id, subscribed.nth, subscribed.topic FROM subscribed
) AS excluded
    ON excluded.partition = told.partition AND excluded.group_id = told.group_id AND excluded.nth = told.nth
    AND excluded.topic = told.topic
GROUP BY told.partition, told.group_id, told.nth, told.topic, told.topic_partition
HAVING count(excluded.topic) = 0
ORDER BY told.partition, told.group_id, told.topic, told.nth, told.topic_partition
