-- Each partition of the log, and up to when it is known: the age of what is open there is measured to captured_at.
SELECT partition, captured_at FROM partition_history WHERE is_base
