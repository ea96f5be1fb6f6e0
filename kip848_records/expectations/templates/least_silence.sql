SELECT group_id, CAST(nullif(min_silence, 0) * 1000 AS bigint) AS min_silence_ms FROM limits
