-- For how long a partition of a group must stand still at least, where kip848 check sets it (min_silence); elsewhere none is.
SELECT CAST(NULL AS string) AS group_id, CAST(NULL AS bigint) AS min_silence_ms
