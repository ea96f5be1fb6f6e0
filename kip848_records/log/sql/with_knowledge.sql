-- The rows of a run and what it knows about them, as rows of the table `log`.
-- Rows that could not be read are quarantined with the records of groups, whatever their key.
SELECT content, run, {{ columns | join(", ") }}, is_inferred, run_info, read FROM {known}
UNION ALL
SELECT
    CASE
        WHEN file IS NOT NULL THEN 'knowledge'
        WHEN error_code IS NULL AND (control IS NOT NULL OR coalesce(key_type IN ({{ commit_types | join(', ') }}), false)) THEN 'offset_commit'
        ELSE 'record'
    END AS content,
    CAST({{ run }} AS bigint) AS run, {{ columns | join(", ") }}, {{ is_inferred }} AS is_inferred,
    NULL AS run_info, NULL AS read
FROM {rows}
