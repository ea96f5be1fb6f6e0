{# Whether a release of Kafka can load each partition, and without which groups. `release`: as it was asked for; `evaluated`: the
   one that it is evaluated by. `known`: the record types that this one knows, and `lost`: the types of groups that it does not.
   `reads_unknown_versions`: it reads a value of an unknown version as another one. `refuses_versions_of_type_0`: whether it
   refuses offset commits of key type 0 with a value of a version above 0. `steps`: what to do, as literals, by known bug.

   The verdict is about the records of the copy, in their order, as a coordinator loads them. A partition of which the copy
   has the start, and no lost record, has all that the broker has; else what is refused must be proven. #}
WITH parts AS (
    SELECT
        partition, coalesce(NOT log_start_missing, false) AND first_lost_offset IS NULL AS is_whole
    FROM partition_history
    WHERE is_base
), refusals AS (
    SELECT
        refused.partition, refused.offset, refused.group_id, refused.member_id, refused.record_type, refused.seen,
        refused.bug, refused.is_proven OR coalesce(parts.is_whole, false) AS is_certain
    FROM refused_record AS refused
    LEFT JOIN parts ON parts.partition = refused.partition
    WHERE array_contains(refused.refused_by, '{{ evaluated }}')
    UNION ALL
    SELECT
        partition, quarantine.offset, group_id, CAST(NULL AS string), key_type, text(reason), CAST(NULL AS string),
        (position IS NOT NULL OR error_code = 'key_without_type') AND NOT (coalesce(is_disputed(key_type), false) AND is_other) AND error_code NOT IN (
            'key_invalid_utf8', 'value_invalid_utf8', 'value_tag_size_mismatch'
            {{ ", 'value_unknown_version', 'value_negative_version'" if reads_unknown_versions }}
        )
    FROM quarantine
    CROSS JOIN other_dialect
    WHERE error_code NOT IN ('key_trailing_bytes', 'value_trailing_bytes')
        AND (key_type IS NULL OR key_type IN ({{ known | join(", ") }}))
{% if refuses_versions_of_type_0 %}
    UNION ALL
    SELECT
        partition, refused_commits.offset, group_id, CAST(NULL AS string), key_type,
        'an offset commit of key type 0 has a value of a version above 0', 'commit-type-0', true
    FROM refused_commits
{% endif %}
), ranked AS (
    SELECT
        refusals.*,
        row_number() OVER (
            PARTITION BY partition
            ORDER BY is_certain DESC, refusals.offset, text(group_id), seen
        ) AS nth
    FROM refusals
), counts AS (
    SELECT partition, count(*) AS held FROM group_state GROUP BY partition
), steps AS (
    SELECT
        ranked.*, coalesce(counts.held, 0) AS held,
        CASE
{% for name, step in steps.items() %}
            WHEN bug = '{{ name }}' THEN {{ step }}
{% endfor %}
            ELSE 'Do not load this log with the release; or delete the group, which deletes its offsets too, while a broker has it loaded; see the runbook.'
        END AS step
    FROM ranked
    LEFT JOIN counts ON counts.partition = ranked.partition
    WHERE nth = 1
)
SELECT
    CASE WHEN is_certain THEN 'violation' ELSE 'unknown' END AS verdict, CAST(NULL AS string) AS severity,
    group_id, CAST(NULL AS int) AS group_epoch, member_id, partition, steps.offset,
    concat(
        'Kafka {{ release }} does not load partition ', text(partition), ', with ', counted(held, group), ': the record',
        CASE WHEN record_type IS NOT NULL THEN concat(' of type ', text(record_type)) ELSE '' END,
        ' at offset ', text(steps.offset), ' is refused: ', seen,
        CASE WHEN bug IS NOT NULL THEN concat(' (', bug, ')') ELSE '' END,
        CASE WHEN is_certain THEN '' ELSE '; or records are missing here that the broker has, or the copy is damaged' END,
        '. ', step
    ) AS message,
    step AS advice_in_message
FROM steps
UNION ALL
SELECT
    CASE WHEN parts.is_whole THEN 'pass' ELSE 'unknown' END, NULL, NULL, NULL, NULL, parts.partition, NULL,
    concat(
        'Kafka {{ release }} refuses no record of partition ', text(parts.partition),
        ' that is here, but the start of the log or other records are missing'
    ),
    NULL
FROM parts
WHERE NOT EXISTS (SELECT 1 FROM refusals WHERE refusals.partition = parts.partition)
UNION ALL
SELECT
    'violation', 'warn', group_id, NULL, NULL, partition, gone.offset,
    concat(
        'Kafka {{ release }} ignores the records of this ', group_type, ' group: it is gone there',
        CASE WHEN group_type = 'share' THEN '' ELSE ', and its committed offsets stay' END, '. ', gone.step
    ),
    gone.step
FROM (
    SELECT
        group_state.*,
        CASE
            WHEN group_type = 'share' THEN 'Stop its members before.'
            ELSE 'Stop its members before; do not delete it: that deletes its offsets too.'
        END AS step
    FROM group_state
) AS gone
WHERE group_type IN ({{ lost | join(", ") }})
UNION ALL
SELECT
    'violation', 'warn', NULL, NULL, NULL, partition, min(unknown_record.offset),
    concat('Kafka {{ release }} ignores ', counted(count(*), record), ' of type ', text(key_type)), NULL
FROM unknown_record
GROUP BY partition, key_type
