-- One row, is_other: whether more records of types that dialects dispute failed to decode than were replayed at all. Then the
-- dialect may be wrong.
SELECT failed.failed > replayed.replayed AS is_other
FROM (
    SELECT count_if(is_disputed(key_type) AND position IS NOT NULL) AS failed FROM quarantine
) AS failed
CROSS JOIN (SELECT coalesce(sum(CAST(records AS decimal(38, 0))), 0) AS replayed FROM group_state) AS replayed
