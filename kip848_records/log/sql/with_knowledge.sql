-- The rows of a run and what it knows about them, as rows of the table `log`.
-- Rows that could not be read are quarantined with the records of groups, whatever their key.
SELECT known.content, known.run, {% for name in columns %}known.{{ name }}, {% endfor %}known.is_inferred, known.run_info, known.read
FROM {known} AS known
UNION ALL
SELECT
    CASE
        WHEN file IS NOT NULL THEN 'knowledge'
        WHEN error_code IS NULL AND (control IS NOT NULL OR coalesce(key_type IN ({{ commit_types | join(', ') }}), false)) THEN 'offset_commit'
        ELSE 'record'
    END AS content,
    CAST({{ run }} AS bigint) AS run, {% for name in columns %}found.{{ name }}, {% endfor %}{{ is_inferred }} AS is_inferred,
    NULL AS run_info, NULL AS read
FROM {rows} AS found
