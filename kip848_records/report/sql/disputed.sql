-- How many quarantined rows failed to decode with a key type that dialects dispute.
SELECT count(*) AS failed
FROM quarantine
WHERE position IS NOT NULL AND is_disputed(key_type)
