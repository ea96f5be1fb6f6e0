{# No group has a pattern of `diagnosis`, or had it within the limit: one text for all patterns, whose names are those of the
   expectations. `among`: by who can have a pattern, the groups that can, as SQL behind FROM; there is one row for each of
   these. `about`: who can have each pattern: one of these, `commits`, every group with offset commits, or `log`, all groups
   together; `across`: those of `log` for which every group must be known for the limit, since the pattern may be among
   those that are not. `by_members`: the entry of `among` that goes by who was seen in a group, which a short history may
   not show. A group whose history is shorter than the limit, and that shows no trouble, may have had one; without a time of
   the capture nothing is diagnosed. #}
SELECT
    places.expectation,
    verdict(found.pattern IS NOT NULL, found.pattern IS NOT NULL OR places.is_known) AS verdict,
    CASE WHEN found.severity <> 'error' THEN 'warn' END AS severity,
    places.group_id, CAST(NULL AS int) AS group_epoch, found.subject.member_id AS member_id, places.partition,
    array_max(found.evidence) AS offset, found.next_step AS advice_in_message,
    CASE
        WHEN found.pattern IS NULL THEN concat('none is seen; ', places.known_of, ' must be known for ', within_seconds_text)
        WHEN found.ended_ms IS NULL THEN concat(found.sentence, ' ', found.next_step)
        ELSE concat(found.sentence, ' ', found.next_step, ' It ended ', duration(found.ended_ms), ' before the capture.')
    END AS message
FROM (
    SELECT
        every.expectation, every.partition, every.group_id, every.within_seconds, every.within_seconds_text, every.is_known,
        can_have.group_id IS NOT NULL OR (every.about = '{{ by_members }}' AND NOT every.is_known) AS is_possible,
        'its history' AS known_of
    FROM (
        SELECT
            limits.expectation, abouts.about, groups.partition, groups.group_id, limits.within_seconds,
            limits.within_seconds_text,
            captures.captured_at IS NOT NULL AND (
                groups.has_full_history
                OR coalesce(ms_between(present.known_since, present.captured_at) >= limits.within_seconds * 1000, false)
            ) AS is_known
        FROM groups
        JOIN limits ON limits.group_id = groups.group_id
        JOIN (VALUES {% for name, who in about.items() %}('{{ name }}', '{{ who }}'){{ ", " if not loop.last }}{% endfor %}) AS abouts(expectation, about)
            ON abouts.expectation = limits.expectation AND abouts.about NOT IN ('{{ commits }}', '{{ log }}')
        LEFT JOIN captures ON captures.partition = groups.partition
        LEFT JOIN group_state AS present
            ON present.partition = groups.partition AND present.group_id = groups.group_id
    ) AS every
    LEFT JOIN (
{% for who, those in among.items() %}
        {{ "UNION ALL" if not loop.first }}
        SELECT DISTINCT '{{ who }}' AS about, partition, group_id FROM {{ those }}
{% endfor %}
    ) AS can_have
        ON can_have.about = every.about AND can_have.partition = every.partition AND can_have.group_id = every.group_id
    UNION ALL
    SELECT
        limits.expectation, stays.offsets_partition, stays.group_id, limits.within_seconds, limits.within_seconds_text,
        bool_and(stays.history IN ('observed', 'right_censored')), true, 'its history'
    FROM commit_progress AS stays
    JOIN limits ON limits.group_id = stays.group_id
    WHERE limits.expectation IN ({% for name, who in about.items() if who == commits %}'{{ name }}'{{ ", " if not loop.last }}{% endfor %})
    GROUP BY limits.expectation, stays.offsets_partition, stays.group_id, limits.within_seconds, limits.within_seconds_text
    UNION ALL
    SELECT
        limits.expectation, NULL, NULL, limits.within_seconds, limits.within_seconds_text,
        (SELECT max(captured_at) FROM captures) IS NOT NULL AND (
            limits.expectation <> '{{ across }}'
            OR coalesce(histories.known_ms >= limits.within_seconds * 1000, true)
        ),
        (SELECT count(*) FROM groups) > 0,
        CASE WHEN limits.expectation = '{{ across }}' THEN 'the history of all groups' ELSE 'its history' END
    FROM limits
    CROSS JOIN (
        SELECT min(coalesce(ms_between(present.known_since, present.captured_at), -1)) AS known_ms
        FROM groups AS every
        LEFT JOIN group_state AS present
            ON present.partition = every.partition AND present.group_id = every.group_id
        WHERE NOT every.has_full_history
    ) AS histories
    WHERE limits.group_id IS NULL
        AND limits.expectation IN ({% for name, who in about.items() if who == log %}'{{ name }}'{{ ", " if not loop.last }}{% endfor %})
) AS places
LEFT JOIN troubles AS found
    ON found.partition IS NOT DISTINCT FROM places.partition AND found.group_id IS NOT DISTINCT FROM places.group_id
    AND found.pattern = places.expectation
    AND coalesce(found.is_present OR found.ended_ms <= places.within_seconds * 1000, true)
WHERE places.is_possible OR found.pattern IS NOT NULL
