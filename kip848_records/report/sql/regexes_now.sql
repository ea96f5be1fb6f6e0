-- What each regular expression of a present member resolved to last; topics is null if the log has no resolution of it.
SELECT stays.regex, stays.members, resolved.topics, unix_millis(resolved.resolved_at) AS resolved_ms
FROM (
    SELECT regex, count(*) AS members
    FROM membership
    WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation AND left_offset IS NULL
        AND regex IS NOT NULL AND regex <> ''
    GROUP BY regex
) AS stays
LEFT JOIN (
    SELECT
        regex, topics, resolved_at,
        row_number() OVER (PARTITION BY regex ORDER BY regex_resolution.offset DESC) AS nth
    FROM regex_resolution
    WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation
) AS resolved ON resolved.regex = stays.regex AND resolved.nth = 1
ORDER BY stays.members DESC, stays.regex
LIMIT 21
