-- Every row of quarantine with key_type and group_id, null if the key does not contain them. A key begins with its type
-- and the length of the group id, two bytes each.
SELECT
    partition, position_ AS offset, error_code, reason, position, key_type,
    CASE WHEN (key_type BETWEEN 0 AND 17 OR key_type BETWEEN 19 AND 23) AND length(id_hex) = 2 * id_length
        THEN try_validate_utf8(unhex(id_hex))
    END AS group_id
FROM (
    SELECT parsed.*, substring(key_hex, 9, 2 * id_length) AS id_hex
    FROM (
        SELECT
            quarantine.partition, quarantine.offset AS position_, quarantine.error_code, quarantine.reason,
            quarantine.position, hex(quarantine.key) AS key_hex,
            CASE WHEN length(hex(quarantine.key)) >= 4 THEN hex_number(substring(hex(quarantine.key), 1, 4)) END
                AS key_type,
            CASE WHEN length(hex(quarantine.key)) >= 8 THEN hex_number(substring(hex(quarantine.key), 5, 4)) END
                AS id_length
        FROM quarantine
    ) AS parsed
) AS cut
