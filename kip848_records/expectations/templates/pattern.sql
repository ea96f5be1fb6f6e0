{# No group has this pattern of `diagnosis`, or had it within the limit. `of_groups`: one row for each group, else one
   for all groups together. A group whose history is shorter than the limit, and that shows no trouble, may have had one. #}
SELECT
    verdict(found.pattern IS NOT NULL, found.pattern IS NOT NULL OR places.is_known) AS verdict,
    CASE WHEN found.severity <> 'error' THEN 'warn' END AS severity,
    places.group_id, CAST(NULL AS int) AS group_epoch, found.subject.member_id AS member_id, places.partition,
    array_max(found.evidence) AS offset,
    CASE
        WHEN found.pattern IS NULL THEN concat('none is seen; its history must be known for ', within_seconds_text)
        WHEN found.ended_ms IS NULL THEN concat(found.sentence, ' ', found.next_step)
        ELSE concat(found.sentence, ' ', found.next_step, ' It ended ', duration(found.ended_ms), ' before the capture.')
    END AS message
FROM (
{% if of_groups %}
    SELECT
        groups.partition, groups.group_id, limits.within_seconds, limits.within_seconds_text,
        groups.has_full_history
            OR coalesce(ms_between(present.known_since, present.captured_at) >= limits.within_seconds * 1000, false)
            AS is_known
    FROM groups
    JOIN limits ON limits.group_id = groups.group_id
    LEFT JOIN group_state AS present
        ON present.partition = groups.partition AND present.group_id = groups.group_id
{% else %}
    SELECT
        CAST(NULL AS int) AS partition, limits.group_id, limits.within_seconds, limits.within_seconds_text,
        true AS is_known
    FROM limits
    WHERE limits.group_id IS NULL
{% endif %}
) AS places
LEFT JOIN troubles AS found
    ON found.partition IS NOT DISTINCT FROM places.partition AND found.group_id IS NOT DISTINCT FROM places.group_id
    AND found.pattern = '{{ pattern }}'
    AND coalesce(found.is_present OR found.ended_ms <= places.within_seconds * 1000, true)
