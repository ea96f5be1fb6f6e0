{# No group has this pattern of `diagnosis`, or had it within the limit. `places`: "groups", one row for each group that can
   have it, a row of `among`; "commits", one for each group with offset commits; "all", one for all groups together.
   `needs_history`: of "all", every group must be known for the limit, since the pattern may be among those that are not.
   `is_by_members`: `among` goes by who was seen in the group, which a short history may not show. A group whose history is
   shorter than the limit, and that shows no trouble, may have had one; without a time of the capture nothing is diagnosed. #}
SELECT
    verdict(found.pattern IS NOT NULL, found.pattern IS NOT NULL OR places.is_known) AS verdict,
    CASE WHEN found.severity <> 'error' THEN 'warn' END AS severity,
    places.group_id, CAST(NULL AS int) AS group_epoch, found.subject.member_id AS member_id, places.partition,
    array_max(found.evidence) AS offset, found.next_step AS advice_in_message,
    CASE
        WHEN found.pattern IS NULL THEN concat('none is seen; {{ "the history of all groups" if needs_history else "its history" }} must be known for ', within_seconds_text)
        WHEN found.ended_ms IS NULL THEN concat(found.sentence, ' ', found.next_step)
        ELSE concat(found.sentence, ' ', found.next_step, ' It ended ', duration(found.ended_ms), ' before the capture.')
    END AS message
FROM (
{% if places == "groups" %}
    SELECT
        groups.partition, groups.group_id, limits.within_seconds, limits.within_seconds_text,
        captures.captured_at IS NOT NULL AND (
            groups.has_full_history
            OR coalesce(ms_between(present.known_since, present.captured_at) >= limits.within_seconds * 1000, false)
        ) AS is_known,
        can_have.group_id IS NOT NULL AS is_possible
    FROM groups
    JOIN limits ON limits.group_id = groups.group_id
    LEFT JOIN captures ON captures.partition = groups.partition
    LEFT JOIN group_state AS present
        ON present.partition = groups.partition AND present.group_id = groups.group_id
    LEFT JOIN (SELECT DISTINCT partition, group_id FROM {{ among }}) AS can_have
        ON can_have.partition = groups.partition AND can_have.group_id = groups.group_id
{% elif places == "commits" %}
    SELECT
        stays.offsets_partition AS partition, stays.group_id, limits.within_seconds, limits.within_seconds_text,
        bool_and(stays.history IN ('observed', 'right_censored')) AS is_known, true AS is_possible
    FROM commit_progress AS stays
    JOIN limits ON limits.group_id = stays.group_id
    GROUP BY stays.offsets_partition, stays.group_id, limits.within_seconds, limits.within_seconds_text
{% else %}
    SELECT
        CAST(NULL AS int) AS partition, limits.group_id, limits.within_seconds, limits.within_seconds_text,
        (SELECT max(captured_at) FROM captures) IS NOT NULL
{% if needs_history %}
            AND coalesce(histories.known_ms >= limits.within_seconds * 1000, true)
{% endif %}
            AS is_known,
        (SELECT count(*) FROM groups) > 0 AS is_possible
    FROM limits
{% if needs_history %}
    CROSS JOIN (
        SELECT
            min(coalesce(ms_between(present.known_since, present.captured_at), -1)) AS known_ms
        FROM groups AS every
        LEFT JOIN group_state AS present
            ON present.partition = every.partition AND present.group_id = every.group_id
        WHERE NOT every.has_full_history
    ) AS histories
{% endif %}
    WHERE limits.group_id IS NULL
{% endif %}
) AS places
LEFT JOIN troubles AS found
    ON found.partition IS NOT DISTINCT FROM places.partition AND found.group_id IS NOT DISTINCT FROM places.group_id
    AND found.pattern = '{{ pattern }}'
    AND coalesce(found.is_present OR found.ended_ms <= places.within_seconds * 1000, true)
WHERE places.is_possible OR found.pattern IS NOT NULL{{ " OR NOT places.is_known" if is_by_members }}
