-- The run before the last one, in one row: its number, and when it read the log. Nulls: there is none, or its time is not
-- known. Runs over a live topic follow each other; a copy may be older than the copy of the run before it.
SELECT max(found.captured_at) AS captured_at, max(found.run) AS run
FROM (
    SELECT
        before.run, before.captured_at,
        row_number() OVER (
            ORDER BY CASE WHEN before.partitions IS NULL THEN before.captured_at END DESC, before.run DESC
        ) AS nth
    FROM audit_runs AS before
    CROSS JOIN (SELECT max(run) AS run, max_by(captured_at, run) AS captured_at FROM audit_runs) AS last
    WHERE before.run < last.run AND before.captured_at IS NOT NULL
        AND (before.partitions IS NOT NULL OR before.captured_at <= last.captured_at)
) AS found
WHERE found.nth = 1
