-- name = "regex_flaps"
-- sentence = "A regular expression returns to topics that it had just left at most max_flaps times in any hour"
-- severity = "warn"
-- [limits.max_flaps]
-- default = 3
-- unit = "times"
-- reason = "Times in any hour that a regular expression returns to topics that it had just left. Real topics do not change so often."

-- Flaps are counted in a sliding window, and never extrapolated from a shorter log. A regular expression is deleted with
-- its last member, and resolved again for the next one. A replaced static member leaves and joins in one operation, at
-- one time.
WITH changes AS (
    SELECT partition, group_id, regex, regex_resolution.offset AS place, resolved_at AS at_, topics, 0 AS members
    FROM regex_resolution
    UNION ALL
    SELECT partition, group_id, regex, joined_offset, joined_at, NULL, 1
    FROM membership
    WHERE length(regex) > 0 AND joined_offset IS NOT NULL
    UNION ALL
    SELECT partition, group_id, regex, left_offset, left_at, NULL, -1
    FROM membership
    WHERE length(regex) > 0 AND joined_offset IS NOT NULL AND left_offset IS NOT NULL
), counted_members AS (
    SELECT
        changes.*,
        sum(members) OVER (PARTITION BY partition, group_id, regex ORDER BY place) AS remaining,
        lead(at_) OVER (PARTITION BY partition, group_id, regex ORDER BY place) AS next_at
    FROM changes
), subscriptions AS (
    SELECT
        counted_members.*,
        count_if(members < 0 AND remaining = 0 AND NOT coalesce(next_at = at_, false)) OVER (
            PARTITION BY partition, group_id, regex ORDER BY place
        ) AS subscription
    FROM counted_members
), resolutions AS (
    SELECT
        resolved.*,
        lag(found) OVER (PARTITION BY partition, group_id, regex, subscription ORDER BY place) AS found_before
    FROM (SELECT subscriptions.*, array_sort(topics) AS found FROM subscriptions WHERE members = 0) AS resolved
), news AS (
    SELECT
        resolutions.*,
        lag(found, 2) OVER (PARTITION BY partition, group_id, regex, subscription ORDER BY place) AS found_earlier
    FROM resolutions
    WHERE found IS DISTINCT FROM found_before
), flaps AS (
    SELECT
        partition, group_id, regex, place,
        count_if(coalesce(found = found_earlier, false)) OVER (
            PARTITION BY partition, group_id, regex ORDER BY unix_seconds(at_)
            RANGE BETWEEN 3599 PRECEDING AND CURRENT ROW
        ) AS flaps
    FROM news
), worst AS (
    SELECT
        flaps.*,
        row_number() OVER (PARTITION BY partition, group_id, regex ORDER BY flaps DESC, place DESC) AS nth
    FROM flaps
)
SELECT
    verdict(flaps > max_flaps, has_full_history OR flaps > max_flaps) AS verdict,
    CAST(NULL AS string) AS severity,
    worst.group_id, CAST(NULL AS int) AS group_epoch, CAST(NULL AS string) AS member_id, worst.partition,
    place AS offset,
    concat(
        'expected ', text(regex), ' to return to earlier topics at most ', max_flaps_text,
        ' times in an hour, seen ', text(flaps), ' times'
    ) AS message
FROM worst
JOIN limits ON limits.group_id = worst.group_id
LEFT JOIN groups ON groups.partition = worst.partition AND groups.group_id = worst.group_id
WHERE nth = 1
